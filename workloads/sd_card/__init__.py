"""SD card: how fast a board writes a file to an SD card and reads it back, and what keeps the bus waiting."""
