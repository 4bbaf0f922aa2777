"""Child process of `baselines`: the loop on rp2040py.

Arguments: UF2, iterations. Prints {"seconds": s}, of CPU time.
"""

import asyncio
import json
import sys
import time

from rp2040py.boards import BoardSpec
from rp2040py.device import MicroPythonDevice

PROMPT = b">>> "


async def main(image: str, iterations: int) -> float:
    async with MicroPythonDevice(board=BoardSpec(image=image)) as device:
        output = bytearray()
        cdc, usb = device.cdc, device.mcu.usb_ctrl
        cdc.on_serial_data = output.extend
        # Left alone, the emulated PC answers every read of an idle console with an empty packet at once, and the
        # firmware would spend two thirds of its instructions on these. A real PC sends nothing.
        answer = usb.on_endpoint_read
        assert answer is not None
        unanswered: list[tuple[int, int]] = []

        def answer_with_data(endpoint: int, size: int) -> None:
            if endpoint == 0 or cdc.tx_fifo.item_count:
                answer(endpoint, size)
            else:
                unanswered.append((endpoint, size))

        usb.on_endpoint_read = answer_with_data

        async def type_and_wait(text: str) -> None:
            output.clear()
            for byte in text.encode():
                cdc.send_serial_byte(byte)
            while unanswered:
                answer(*unanswered.pop())
            while not output.endswith(PROMPT):
                await asyncio.sleep(0)  # the emulator runs on this loop

        await type_and_wait("\r\n")
        started = time.process_time()
        await type_and_wait(f"for i in range({iterations}): pass\r\n\r\n")
        return time.process_time() - started


print(json.dumps({"seconds": asyncio.run(main(sys.argv[1], int(sys.argv[2])))}))
