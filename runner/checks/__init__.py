"""The checks that the project runs on itself: on the emulated board and on the harness."""
