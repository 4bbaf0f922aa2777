"""`python -m portbench.runner.soak.worker`: the cycles of one worker of a soak, each told as a line of JSON."""

from __future__ import annotations

import argparse
import faulthandler
import json
import sys
from pathlib import Path

from portbench.clients import AddressMode
from portbench.firmware.catalogue import Family
from portbench.firmware.images import ImageError
from portbench.runner.options import BenchOptions
from portbench.runner.plan import plan
from portbench.runner.soak.images import ImageMaker
from portbench.runner.soak.lane import Lane, Record
from portbench.runner.soak.plan import plan_cycle
from portbench.runner.timeouts import Stage
from portbench.workloads import workload

TIMEOUTS_S: dict[Stage, float] = {
    Stage.OPEN: 20,
    Stage.FLASH: 30,
    Stage.CONSOLE: 40,
    Stage.IDENTIFY: 20,
    Stage.DEPLOY: 40,
    Stage.READY: 8,
    Stage.RUN: 12,
}
"""Short ones: a fault that nothing ends costs the soak the whole of its stage."""

LONGEST_CYCLE_S = sum(TIMEOUTS_S.values()) + 60
_BENCH_CYCLES = 20
"""Cycles after which a lane's bench ends and the next begins."""


def parser() -> argparse.ArgumentParser:
    arguments = argparse.ArgumentParser(prog="python -m portbench.runner.soak.worker", description=__doc__)
    arguments.add_argument("--root", type=Path, required=True)
    arguments.add_argument("--seed", type=int, required=True)
    arguments.add_argument("--numbers", required=True, help="the cycles' numbers, FIRST:END:STEP")
    arguments.add_argument("--runtime", required=True)
    arguments.add_argument("--workload", required=True)
    arguments.add_argument("--lanes", type=int, required=True)
    return arguments


def main() -> int:
    faulthandler.enable()
    arguments = parser().parse_args()
    first, end, step = map(int, arguments.numbers.split(":"))
    address_mode: AddressMode = "static"
    options = BenchOptions(
        where="emulated",
        runtimes=(arguments.runtime,),
        workloads=(workload(arguments.workload),),
        quick=True,
        runs=1,
        timeouts_s=dict(TIMEOUTS_S),
        address_mode=address_mode,
    )
    planned = plan(options)[0]
    exchanges = planned.workload.exchanges(planned.settings)
    lanes = []
    for number in range(arguments.lanes):
        root = arguments.root / str(number)
        root.mkdir(parents=True)
        try:
            lanes.append(Lane(root, planned, options, ImageMaker(planned.entry, planned.board, root)))
        except ImageError as error:
            print(f"soak: {error}", file=sys.stderr)
            return 2

    def others(lane: Lane) -> set[int]:
        return set().union(*(each.board_pids for each in lanes if each is not lane))

    def tell(record: Record) -> None:
        print(json.dumps(vars(record)), flush=True)

    for count, number in enumerate(range(first, end, step)):
        lane = lanes[count % len(lanes)]
        console = planned.entry.family not in (Family.NATIVE, Family.FOREIGN)
        cycle = plan_cycle(arguments.seed, number, console=console, exchanges=exchanges)
        tell(lane.run(cycle, others(lane)))
        if count % (_BENCH_CYCLES * len(lanes)) >= (_BENCH_CYCLES - 1) * len(lanes):
            tell(lane.end(others(lane)))
    for lane in lanes:
        tell(lane.end(others(lane)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
