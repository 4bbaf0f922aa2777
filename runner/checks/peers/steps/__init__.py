"""What is done at a program's board and has to come of it, one file for each kind."""
