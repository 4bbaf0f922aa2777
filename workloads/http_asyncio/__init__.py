"""HTTP by asyncio: the pages of the workload http, served by MicroPython's asyncio streams."""
