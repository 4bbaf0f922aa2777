"""Many: what a board does with many connections, and with what goes wrong with one."""
