"""Check the emulated board: against real boards, other projects' tests, its speed targets, and faults."""
