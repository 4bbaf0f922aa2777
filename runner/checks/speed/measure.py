"""The parts of the benchmark: each gives its figures, or why there are none."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from portbench.boards import BoardDefinition, BoardError, Deadline, board_definition
from portbench.errors import PortbenchError
from portbench.firmware import catalogue
from portbench.firmware.images import ImageStore
from portbench.results.model import Status
from portbench.runner.bench import Bench
from portbench.runner.checks.speed.baselines import Baseline, rp2040js, rp2040py
from portbench.runner.checks.speed.cores import measure_cores
from portbench.runner.checks.speed.figures import Figure, Target, skipped
from portbench.runner.checks.speed.history import ROWS as HISTORY_ROWS
from portbench.runner.checks.speed.history import measure_history
from portbench.runner.checks.speed.loop import LoopSpeed, measure_loop
from portbench.runner.checks.speed.many import measure_many, measure_process
from portbench.runner.checks.speed.pio import BOARD as PIO_BOARD
from portbench.runner.checks.speed.pio import measure_pio
from portbench.runner.checks.speed.probes import measure_probes, ratios, unprobed_engine
from portbench.runner.checks.speed.repl import ReplMachine
from portbench.runner.options import BenchOptions
from portbench.runner.plan import plan
from portbench.runner.progress import ProgressView
from portbench.workloads import workload
from portbench.workloads.ping_pong.workload import WORKLOAD as PING_PONG

MICROPYTHON = "micropython-1.26.0"
CIRCUITPYTHON = "circuitpython-9.1.4"
ROWS: dict[tuple[str, str], Target | None] = {
    ("portbench-native", "tuned"): None,
    ("wiznet-hardwired", "tuned"): Target("below", 2.0),
    (MICROPYTHON, "tuned"): None,
    (MICROPYTHON, "as-published"): None,
    (CIRCUITPYTHON, "as-published"): Target("below", 60.0),
}
"""Runtime and profile -> seconds of host time for the workload that is measured by default, as it is set by default."""
PICO_W_ROWS: tuple[tuple[str, str, str], ...] = (
    *(("micropython-pico-w-1.26.1", "as-built", name) for name in ("ping_pong", "http", "bulk", "duplex", "udp")),
    *(("circuitpython-pico-w-8.0.5", "as-built", name) for name in ("ping_pong", "http", "bulk")),
)
"""Runtime, profile and workload: those that keep gSPI busiest, and the first."""
_EIGHT = 8
_MEBI = 1 << 20
_PART_S = 300.0
_QUICK_ROWS = 200
_PIO_CYCLES = 25_000_000
_QUICK_PIO_CYCLES = 200_000
_TWO_CORES_BOARD = "RPI_PICO"
_TWO_CORES_CYCLES = 25_000_000
_QUICK_TWO_CORES_CYCLES = 200_000

Part = Callable[["Session"], Iterator[Figure]]


class Session:
    """What all parts use: the board, and images from the usual places."""

    def __init__(self, definition: BoardDefinition, store: ImageStore, quick: bool, project: Path) -> None:
        self.definition = definition
        self.quick = quick
        self.project = project
        self.store = store
        self._known = catalogue.load()

    def image(self, runtime: str) -> Path:
        """The UF2. Raises PortbenchError and its like."""
        path = self.store.obtain(self._known.get(runtime)).path
        assert path is not None
        return path

    def deadline(self, what: str) -> Deadline:
        return Deadline(_PART_S, what)


def loop(session: Session) -> Iterator[Figure]:
    """MicroPython's empty loop on the engine, on the chip (by simulated time) and on other emulators."""
    what = f"{MICROPYTHON} loop"
    try:
        image = session.image(MICROPYTHON)
        speed = measure_loop(image, session.definition, session.deadline(what))
        plain = measure_loop(image, session.definition, session.deadline(what), translated=False)
        if (plain.simulated_s, plain.instructions) != (speed.simulated_s, speed.instructions):
            raise BoardError(f"{what}: {plain.simulated_s} s interpreted, {speed.simulated_s} s translated; report it")
    except PortbenchError as error:
        yield skipped(what, str(error))
        return
    chip = f"the chip at {speed.clk_sys_hz / 1e6:g} MHz: {speed.chip_instructions_per_s / 1e6:.1f} M/s"
    executed = f"{speed.iterations} iterations, {speed.instructions / 1e6:.1f} M instructions in {speed.cpu_s:.2f} s"
    yield Figure(f"{what}: speed", speed.instructions_per_s / 1e6, "M instr/s", Target("at least", 150), executed)
    yield Figure(f"{what}: against the chip", speed.times_real_time, "x real time", Target("at least", 2), chip)
    either_way = f"{plain.instructions_per_s / 1e6:.1f} M instr/s, {plain.simulated_s:.3f} simulated s either way"
    yield Figure(f"{what}: against interpreting it", plain.cpu_s / speed.cpu_s, "x", None, either_way)
    for name, measure, least in (("rp2040py", rp2040py, 40.0), ("rp2040js", rp2040js, 5.5)):
        yield _against(what, name, measure, least, image, speed, session)


def _against(
    what: str,
    name: str,
    measure: Callable[[Path, Deadline], Baseline],
    least: float,
    image: Path,
    speed: LoopSpeed,
    session: Session,
) -> Figure:
    target = Target("at least", least)
    try:
        baseline = measure(image, session.deadline(name))
    except PortbenchError as error:
        return skipped(f"{what}: against {name}", str(error), f"x {name}", target)
    ratio = speed.iterations_per_s / baseline.iterations_per_s
    theirs = baseline.iterations_per_s * speed.instructions / speed.iterations / 1e6
    note = f"{baseline.name}: {baseline.iterations} iterations in {baseline.cpu_s:.2f} s, {theirs:.1f} M instr/s"
    return Figure(f"{what}: against {name}", ratio, f"x {name}", target, note)


def circuitpython(session: Session) -> Iterator[Figure]:
    """CircuitPython from power-up to its prompt: the first time, when it formats its drive, and again."""
    what = f"{CIRCUITPYTHON} to its prompt"
    try:
        board = ReplMachine(session.image(CIRCUITPYTHON), session.definition)
        deadline = session.deadline(what)
        for occasion in ("first start", "again"):
            cpu_s = board.start(deadline) if occasion == "first start" else board.restart(deadline)
            note = f"{board.machine.time_us / 1e6:.2f} s on the chip"
            yield Figure(f"{what}: {occasion}", cpu_s, "s", Target("below", 2.0), note)
    except PortbenchError as error:
        yield skipped(what, str(error))


def boards(session: Session) -> Iterator[Figure]:
    """Memory of one board's process, and eight boards at once."""
    try:
        image = session.image(MICROPYTHON)
        process_bytes = measure_process(image, session.definition, session.deadline("one board"))
        yield _memory("one board: memory of its process", process_bytes, "largest so far, at its prompt")
        many = measure_many(image, session.definition, _EIGHT, session.deadline(f"{_EIGHT} boards"))
        yield _memory(
            f"{_EIGHT} boards in one process: memory of each", many.board_bytes, "what it adds to the process"
        )
        slowest = f"the slowest at {many.slowest_times_real_time:.2f} x real time"
        yield Figure(
            f"{_EIGHT} boards in one process: speed", many.instructions_per_s / 1e6, "M instr/s", None, slowest
        )
    except PortbenchError as error:
        yield skipped("boards at once", str(error))


def probes(session: Session) -> Iterator[Figure]:
    """What an attribution, a trace and a profile cost while they are on, and while they are off."""
    try:
        engine = unprobed_engine(session.project)
        deadline = session.deadline("probes")
        image = PING_PONG.body("native")
        assert image is not None  # it is in the repository
        cost = measure_probes(image, session.definition, engine, deadline, rounds=1 if session.quick else 7)
    except BoardError as error:
        yield skipped("probes", str(error))
        return
    for name, ratio, note in ratios(cost):
        yield Figure(f"probes: {name}", ratio, "x", None, note)
    if engine is None:
        yield skipped("probes: all probes off against an engine without", "build one: make unprobed", "x")


def _memory(name: str, value: int | None, note: str) -> Figure:
    target = Target("below", 64)
    if value is None:
        return skipped(name, "this system has no /proc", "MiB", target)
    return Figure(name, value / _MEBI, "MiB", target, note)


def rows(session: Session) -> Iterator[Figure]:
    """Host time of whole rows, from the power cycle to the result, through the very path of a bench run."""
    options = BenchOptions(runtimes=tuple(dict.fromkeys(runtime for runtime, _ in ROWS)))
    wanted = {(*key, PING_PONG.name): target for key, target in ROWS.items()}
    for name, target, took in _measured(session, options, wanted):
        if isinstance(took, str):
            yield skipped(name, took, "s", target)
        else:
            simulated_s, host_s = took
            note = f"{simulated_s:.2f} s on the chip, {simulated_s / host_s:.2f} x real time"
            yield Figure(name, host_s, "s", None if session.quick else target, note)


def pico_w(session: Session) -> Iterator[Figure]:
    """How much faster than a Pico W its rows are: what its radio takes by gSPI is in them."""
    options = BenchOptions(
        board=board_definition(PIO_BOARD),
        runtimes=tuple(dict.fromkeys(runtime for runtime, _, _ in PICO_W_ROWS)),
        workloads=tuple(workload(name) for name in dict.fromkeys(name for _, _, name in PICO_W_ROWS)),
        workloads_by_name=False,
    )
    for name, target, took in _measured(session, options, dict.fromkeys(PICO_W_ROWS, Target("at least", 1))):
        if isinstance(took, str):
            yield skipped(name, took, "x real time", target)
        else:
            simulated_s, host_s = took
            note = f"{simulated_s:.2f} s on the chip in {host_s:.2f} s"
            yield Figure(name, simulated_s / host_s, "x real time", None if session.quick else target, note)


def _measured(
    session: Session, options: BenchOptions, wanted: Mapping[tuple[str, str, str], Target | None]
) -> Iterator[tuple[str, Target | None, tuple[float, float] | str]]:
    """Rows by runtime, profile and workload: the name, and simulated and host seconds, or why there are none."""
    with tempfile.TemporaryDirectory(prefix="portbench-benchmark-") as folder:
        options = replace(options, where="emulated", runs=1, quick=session.quick, results_dir=Path(folder))
        planned = {(row.entry.id, row.profile.name, row.workload.name): row for row in plan(options)}
        bench = Bench(options, session.store, session.project)
        try:
            view = ProgressView(len(wanted))
            for key, target in wanted.items():
                row = bench.measure(planned[key], view).row
                name = f"{key[0]} {key[1]}: {key[2]}"
                if row.status is not Status.MEASURED or row.sim is None or row.sim.host_s is None:
                    yield name, target, row.reason or ""
                else:
                    yield name, target, (row.sim.counters["simulated_us"] / 1e6, row.sim.host_s)
        finally:
            bench.close()


def pio(session: Session) -> Iterator[Figure]:
    """A state machine and a DMA channel that never rest, as a Pico W's have it in bulk transfers."""
    what = "gSPI without a pause"
    cycles, rounds = (_QUICK_PIO_CYCLES, 1) if session.quick else (_PIO_CYCLES, 3)
    try:
        speed = measure_pio(board_definition(PIO_BOARD), cycles, rounds)
    except BoardError as error:
        yield skipped(what, str(error))
        return
    target = None if session.quick else Target("at least", 1)
    note = f"{speed.cycles / 1e6:g} M cycles at 125 MHz, polled by a core, in {speed.laps_s:.3f} s"
    yield Figure(f"{what}: against the chip", speed.times_real_time, "x real time", target, note)
    note = f"{speed.edges_s:.3f} s against {speed.laps_s:.3f} s"
    yield Figure(f"{what}: against an event for each edge", speed.edges_s / speed.laps_s, "x", None, note)


def cores(session: Session) -> Iterator[Figure]:
    """Both cores, each in a loop that never ends, beside one of them."""
    what = "two busy cores"
    cycles, rounds = (_QUICK_TWO_CORES_CYCLES, 1) if session.quick else (_TWO_CORES_CYCLES, 3)
    try:
        speed = measure_cores(board_definition(_TWO_CORES_BOARD), cycles, rounds)
    except BoardError as error:
        yield skipped(what, str(error))
        return
    note = f"{speed.cycles / 1e6:g} M cycles in {speed.both_s:.3f} s"
    yield Figure(f"{what}: for a simulated second at 125 MHz", speed.both_s_for_a_second, "s", None, note)
    note = f"{speed.both_s:.3f} s against {speed.one_s:.3f} s"
    yield Figure(f"{what}: against one alone", speed.both_s / speed.one_s, "x", None, note)


def history(session: Session) -> Iterator[Figure]:
    """A history of many rows: to be looked at without waiting."""
    speed = measure_history(_QUICK_ROWS if session.quick else HISTORY_ROWS)
    what = f"history of {speed.rows} rows"
    yield Figure(f"{what}: load", speed.load_s, "s", None if session.quick else Target("below", 1.0))
    yield Figure(f"{what}: beside its JSON alone", speed.load_s / speed.json_s, "x", Target("below", 3.0))


PARTS: dict[str, Part] = {
    "loop": loop,
    "circuitpython": circuitpython,
    "boards": boards,
    "rows": rows,
    "pico-w": pico_w,
    "probes": probes,
    "pio": pio,
    "cores": cores,
    "history": history,
}
