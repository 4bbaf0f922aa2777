"""MicroPython's time on a clock that only sleeping and looking move: tests take no real time."""

PERIOD = 1 << 30  # as on rp2
now_us = PERIOD - 1_000_000  # wraps soon, as it may on a board


def ticks_us():
    global now_us
    now_us += 3
    return now_us % PERIOD


def ticks_ms():
    return now_us // 1000 % PERIOD


def ticks_diff(end, start):
    return (end - start + PERIOD // 2) % PERIOD - PERIOD // 2


def sleep_ms(ms):
    global now_us
    now_us += ms * 1000
