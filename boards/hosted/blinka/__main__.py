"""`python -P -m portbench.boards.hosted.blinka SCRIPT SETTINGS RECORD`: a script beside a simulated Ethernet chip.

SETTINGS is JSON: `ethernet` (the chip and its wires, as in a board's file), `port` (of the simulated PC's server),
`workload` (what it serves, or null) and `network` (the engine's network settings). RECORD gets JSON once the script has
ended: the server's `sessions`, the chip's `counters`.
"""

from __future__ import annotations

import json
import runpy
import sys
from dataclasses import asdict
from pathlib import Path

from portbench._engine import ChipLan
from portbench.boards.definition import Ethernet
from portbench.boards.hosted.blinka.modules import circuitpython_modules
from portbench.boards.hosted.blinka.wires import HostClock, Wires
from portbench.server.simulated import SimulatedServer, serve


def main(script: str, settings_json: str, record: str) -> None:
    settings = json.loads(settings_json)
    ethernet = Ethernet(**settings["ethernet"])
    lan = ChipLan(ethernet.chip, settings["network"])
    server = SimulatedServer(serve(settings["workload"]) if settings["workload"] else None)
    lan.listen(settings["port"], server)
    wires = Wires(lan, ethernet, HostClock())
    sys.modules.update(circuitpython_modules(wires))
    try:
        runpy.run_path(script, run_name="__main__")
    finally:
        sessions = [asdict(session) for session in server.sessions()]
        unfinished = Path(record).with_suffix(".tmp")
        unfinished.write_text(json.dumps({"sessions": sessions, "counters": lan.stats()}), encoding="utf-8")
        unfinished.replace(record)


if __name__ == "__main__":
    main(*sys.argv[1:])
