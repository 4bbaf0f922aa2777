"""Check the emulated board."""
