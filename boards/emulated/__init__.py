"""Emulated boards in this process: a microcontroller and its network chip in software, which run a real board's UF2."""
