"""The verbs of `portbench`: each file is one, with what it is for as its first line and a click command `COMMAND`."""
