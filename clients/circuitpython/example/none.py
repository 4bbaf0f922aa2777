"""The board's LED blinks, twice a second."""

import time

import board
import digitalio

led = digitalio.DigitalInOut(board.LED)
led.switch_to_output()
while True:
    led.value = not led.value
    time.sleep(0.25)
