"""CircuitPython's `board`, `busio`, `digitalio` and `supervisor` on CPython, wired to the engine's W5500.

What Adafruit's Blinka does for chips on a real PC's pins, this does for the simulated W5500 and its LAN: pure-Python
drivers such as adafruit_wiznet5k run on it unchanged.
"""
