"""The verbs of `portbench`: each file is one, with its purpose as its first line and a click command `COMMAND`."""
