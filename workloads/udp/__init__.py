"""UDP: how many megabits a second a board sends and takes as datagrams, and how many are lost."""
