"""Passes through a loop, up or down."""

import time

from portbench_client import RESULT


def spin(passes, backwards):
    started = time.monotonic_ns()
    for number in reversed(range(passes)) if backwards else range(passes):
        RESULT["last"] = number
    RESULT["total_us"] = (time.monotonic_ns() - started) // 1000
