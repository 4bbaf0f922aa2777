"""`python -P -m portbench.boards.hosted.blinka SCRIPT SETTINGS RECORD`: a script beside a simulated Ethernet chip.

SETTINGS is JSON: `board` (a board definition's id), `port` (of the simulated PC's ping-pong server) and `network` (the
engine's network settings). RECORD gets JSON once the script has ended: the server's `sessions`, the chip's `counters`.
"""

from __future__ import annotations

import json
import runpy
import sys
from pathlib import Path

from portbench._engine import ChipLan
from portbench.boards.definition import board_definition
from portbench.boards.emulated.lan_server import LanServer
from portbench.boards.hosted.blinka.modules import circuitpython_modules
from portbench.boards.hosted.blinka.wires import HostClock, Wires


def main(script: str, settings_json: str, record: str) -> None:
    settings = json.loads(settings_json)
    definition = board_definition(settings["board"])
    lan = ChipLan(definition.ethernet, settings["network"])
    server = LanServer()
    lan.listen(settings["port"], server)
    wires = Wires(lan, definition.spi, HostClock())
    sys.modules.update(circuitpython_modules(wires))
    try:
        runpy.run_path(script, run_name="__main__")
    finally:
        unfinished = Path(record).with_suffix(".tmp")
        unfinished.write_text(json.dumps({"sessions": server.sessions(), "counters": lan.stats()}), encoding="utf-8")
        unfinished.replace(record)


if __name__ == "__main__":
    main(*sys.argv[1:])
