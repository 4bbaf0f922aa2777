"""Sends a block, waits until all of it is back, and notes how long that took."""

import time

from portbench_client import RESULT


def echo(sock, block_bytes, blocks):
    RESULT["stage"] = "run"
    block, block_us = b"x" * block_bytes, []
    for _ in range(blocks):
        sent = time.ticks_us()
        sock.send(block)
        back = b""
        while len(back) < len(block):
            back += sock.recv(len(block) - len(back))
        block_us.append(time.ticks_diff(time.ticks_us(), sent))
    sock.close()
    RESULT["block_us"] = block_us
    del RESULT["stage"]
