"""`python -m portbench.runner.checks.soak.worker`: run the cycles of one worker, and print each as a line of JSON."""

from __future__ import annotations

import argparse
import faulthandler
import json
import signal
import sys
from collections import Counter
from pathlib import Path

from portbench.clients import AddressMode
from portbench.errors import PortbenchError
from portbench.runner.checks.soak.images import ImageMaker
from portbench.runner.checks.soak.lane import Lane, Record
from portbench.runner.checks.soak.plan import lane_of
from portbench.runner.options import BenchOptions
from portbench.runner.plan import plan
from portbench.runner.stages import Stage
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
"""Short: a fault that nothing ends costs the soak the whole stage."""

LONGEST_CYCLE_S = sum(TIMEOUTS_S.values()) + 60
_BENCH_CYCLES = 20
"""Cycles after which a lane's bench ends and the next begins."""


def parser() -> argparse.ArgumentParser:
    arguments = argparse.ArgumentParser(prog="python -m portbench.runner.checks.soak.worker", description=__doc__)
    arguments.add_argument("--root", type=Path, required=True)
    arguments.add_argument("--seed", type=int, required=True)
    arguments.add_argument("--numbers", required=True, help="the cycles' numbers, FIRST:END:STEP")
    arguments.add_argument("--runtime", required=True)
    arguments.add_argument("--workload", required=True)
    return arguments


def make_lane(root: Path, runtime: str, name: str, *, on_desk: bool) -> Lane:
    """Raises PortbenchError."""
    address_mode: AddressMode = "static"
    options = BenchOptions(
        where="emulated",
        runtimes=(runtime,),
        workloads=(workload(name),),
        quick=True,
        runs=1,
        timeouts_s=dict(TIMEOUTS_S),
        address_mode=address_mode,
    )
    planned = plan(options)[0]
    return Lane(root, planned, options, ImageMaker(planned.entry, planned.board, root), on_desk=on_desk)


def main() -> int:
    faulthandler.enable()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a process in the background ignores Ctrl-C
    arguments = parser().parse_args()
    first, end, step = map(int, arguments.numbers.split(":"))
    lanes: list[Lane] = []
    for on_desk in (False, True):
        root = arguments.root / str(len(lanes))
        root.mkdir(parents=True)
        try:
            lanes.append(make_lane(root, arguments.runtime, arguments.workload, on_desk=on_desk))
        except PortbenchError as error:
            print(f"soak: {error}", file=sys.stderr)
            return 2

    def others(lane: Lane) -> set[int]:
        return set().union(*(each.board_pids for each in lanes if each is not lane))

    def tell(record: Record) -> None:
        print(json.dumps(vars(record)), flush=True)

    run: Counter[int] = Counter()
    for number in range(first, end, step):
        chosen = lane_of(arguments.seed, number, len(lanes))
        lane = lanes[chosen]
        tell(lane.run(lane.plan(arguments.seed, number), others(lane)))
        run[chosen] += 1
        if run[chosen] % _BENCH_CYCLES == 0:
            tell(lane.end(others(lane)))
    for lane in lanes:
        tell(lane.end(others(lane)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
