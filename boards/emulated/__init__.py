"""Emulated boards: an RP2040 and a W5500 in software that run the very UF2 a real board runs."""
