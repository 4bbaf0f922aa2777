"""`python -m portbench.runner.checks.soak.worker`: run the cycles of one worker, and print each as a line of JSON.

Standard input has the cycles' numbers, a line of JSON. At its end the worker ends: the soak is gone.
"""

from __future__ import annotations

import argparse
import faulthandler
import json
import os
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from portbench.errors import PortbenchError
from portbench.runner.checks.soak.images import ImageMaker
from portbench.runner.checks.soak.lane import Lane
from portbench.runner.checks.soak.leaks import pass_over_others
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

_END_S = 1.5
LONGEST_CYCLE_S = sum(TIMEOUTS_S.values()) + 60


def parser() -> argparse.ArgumentParser:
    arguments = argparse.ArgumentParser(prog="python -m portbench.runner.checks.soak.worker", description=__doc__)
    arguments.add_argument("--root", type=Path, required=True)
    arguments.add_argument("--seed", type=int, required=True)
    arguments.add_argument("--runtime", required=True)
    arguments.add_argument("--workload", required=True)
    arguments.add_argument("--on-cable", action="store_true")
    return arguments


def make_lane(root: Path, runtime: str, name: str, *, power_switch: bool) -> Lane:
    """Raises PortbenchError."""
    options = BenchOptions(
        where="emulated",
        runtimes=(runtime,),
        workloads=(workload(name),),
        quick=True,
        runs=1,
        timeouts_s=dict(TIMEOUTS_S),
        address_mode="static",
    )
    planned = plan(options)[0]
    return Lane(root, planned, options, ImageMaker(planned.entry, planned.board, root), power_switch=power_switch)


def end_with(wait: Callable[[], object]) -> None:
    """End this process once `wait` returns, in another thread: by SIGTERM, and for good if that takes too long."""

    def end() -> None:
        wait()
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGTERM)
        threading.Event().wait(_END_S)
        os._exit(1)

    threading.Thread(target=end, daemon=True).start()


def main() -> int:
    faulthandler.enable()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a process in the background ignores Ctrl-C
    arguments = parser().parse_args()
    numbers = json.loads(sys.stdin.readline())
    end_with(lambda: os.read(0, 1))
    pass_over_others()  # such as the thread that waits there
    try:
        on_cable = arguments.on_cable
        lane = make_lane(arguments.root, arguments.runtime, arguments.workload, power_switch=not on_cable)
    except PortbenchError as error:
        print(f"soak: {error}", file=sys.stderr)
        return 2
    for record in lane.run([lane.plan(arguments.seed, number) for number in numbers]):
        try:
            print(json.dumps(vars(record)), flush=True)
        except BrokenPipeError:  # the soak is gone
            os._exit(1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
