"""`python -m portbench.server`: the server of a workload for boards on the network, one line per client."""

from __future__ import annotations

import argparse
import contextlib
import queue
import signal
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime

from portbench.workloads.session import Session
from portbench.server.tcp import DEFAULT_PORT, ServerError, WorkloadServer
from portbench.workloads import Readiness, UnknownWorkload, workloads

_CTRL_C_S = 0.25


def main(argv: Sequence[str] | None = None) -> int:
    """Exit codes: 0 done (or Ctrl-C without --once), 1 cannot listen or no good client in time, 130 Ctrl-C."""
    parser = argparse.ArgumentParser(prog="python -m portbench.server", description=__doc__)
    try:
        served = {each.name: each for each in workloads().values() if each.readiness is Readiness.CONNECTED}
    except UnknownWorkload as error:
        print(error, file=sys.stderr)
        return 1
    parser.add_argument(
        "--workload", default=next(iter(served)), choices=list(served), help="what it serves (default: %(default)s)"
    )
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on (default: %(default)s, this PC only)")
    parser.add_argument(
        "--port", type=int, default=DEFAULT_PORT, help="TCP port, 0 for a free one (default: %(default)s)"
    )
    parser.add_argument("--once", action="store_true", help="end after the first good session")
    parser.add_argument("--timeout", type=float, metavar="S", help="with --once: give up after this many seconds")
    parser.add_argument("--max-clients", type=int, default=64, help="clients at a time (default: %(default)s)")
    parser.add_argument(
        "--idle-timeout", type=float, default=30.0, metavar="S", help="cut a silent client off (default: %(default)s)"
    )
    options = parser.parse_args(argv)
    sessions: queue.SimpleQueue[Session] = queue.SimpleQueue()
    workload = served[options.workload]
    server = WorkloadServer(
        workload,
        options.host,
        options.port,
        max_clients=options.max_clients,
        idle_timeout_s=options.idle_timeout,
        on_session=sessions.put,
    )
    with contextlib.suppress(ValueError):  # not in the main thread, so nobody sends it signals
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with WorkloadServer(workload, port=0) as trial:
            own = trial.measure_own_turnaround()
        with server:
            own_us = f"own round trip {own.median_us:.0f} us (p99 {own.p99_us:.0f})"
            print(f"listening on {server.host}:{server.port}, {own_us}", flush=True)
            return _report(sessions, options.once, options.timeout if options.once else None)
    except ServerError as error:
        print(error, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return 130 if options.once else 0


def _report(sessions: queue.SimpleQueue[Session], once: bool, timeout_s: float | None) -> int:
    """Prints sessions as they come; returns after the first good one if `once`."""
    deadline = None if timeout_s is None else time.monotonic() + timeout_s
    while True:
        try:
            session = sessions.get(timeout=_CTRL_C_S)  # Windows delivers Ctrl-C only between two waits
        except queue.Empty:
            if deadline is not None and time.monotonic() > deadline:
                print(f"no good client within {timeout_s:g} s", file=sys.stderr)
                return 1
            continue
        now = datetime.now(UTC).isoformat(timespec="milliseconds")
        print(now, session.line(), flush=True)
        if once and session.ok:
            return 0


if __name__ == "__main__":
    sys.exit(main())
