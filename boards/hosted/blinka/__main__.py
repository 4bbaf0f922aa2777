"""`python -P -m portbench.boards.hosted.blinka SCRIPT SETTINGS RECORD`: a script beside a simulated Ethernet chip.

SETTINGS is JSON: `ethernet` (the chip and its wires, as in a board's file), `port` (of the simulated PC's server),
`workload` (what the PC takes part in, or null), `settings` (the workload's) and `network` (the engine's network
settings). RECORD gets JSON once the script has ended: the PC's `sessions`, the chip's `counters`, and `fault` where the
PC ended the script, as its part could give no figures.
"""

import gc
import json
import runpy
import sys
from dataclasses import asdict
from pathlib import Path

from portbench_engine import ChipLan

from portbench.boards.definition import Ethernet
from portbench.boards.hosted.blinka.modules import circuitpython_modules, time_module
from portbench.boards.hosted.blinka.watch import Overheard, ProgramWatch
from portbench.boards.hosted.blinka.wires import ProgramClock, Wires
from portbench.files import replace_file
from portbench.server.simulated_pc import Part, SimulatedPc, part_in


def main(script: str, settings_json: str, record: str) -> None:
    settings = json.loads(settings_json)
    ethernet, network = Ethernet(**settings["ethernet"]), settings["network"]
    lan = ChipLan(ethernet.chip, network)
    part = part_in(settings["workload"], settings["settings"]) if settings["workload"] else Part()
    pc = SimulatedPc(lan, settings["port"], network["turnaround_us"], part)
    clock = ProgramClock()
    wires = Wires(lan, ethernet, clock, pc.look)
    sys.modules.update(circuitpython_modules(wires), time=time_module(clock))
    sys.stdout = Overheard(sys.stdout, lambda line: pc.heard(line, lan.time_us))
    watch = ProgramWatch(lambda: pc.given_up(wires.now_us()))
    gc.freeze()  # Adafruit's driver collects between messages, and its modules are not part of the script's heap
    try:
        with watch:
            runpy.run_path(script, run_name="__main__")
    finally:
        sessions = [asdict(session) for session in pc.sessions()]
        kept = {"sessions": sessions, "counters": lan.stats(), "fault": watch.fault}
        replace_file(Path(record), json.dumps(kept), synced=False)


if __name__ == "__main__":
    main(*sys.argv[1:])
