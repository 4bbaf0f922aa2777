"""HTTP: how many pages a second a board serves, and how long each stage of one takes."""
