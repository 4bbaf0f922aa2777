"""Passes through a loop, up or down."""

import time

from portbench_client import RESULT


def spin(passes, backwards):
    started = time.ticks_us()
    for number in reversed(range(passes)) if backwards else range(passes):
        RESULT["last"] = number
    RESULT["total_us"] = time.ticks_diff(time.ticks_us(), started)
