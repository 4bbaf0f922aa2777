"""`portbench check speed`: speed and memory of the emulated board, against the chip, rp2040py, rp2040js and rp2350js.

All of it is measured in one run on one PC, so that the ratios hold wherever it runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from portbench.boards import BoardDefinition, BoardError, Deadline, board_definition
from portbench.errors import PortbenchError
from portbench.firmware import catalogue
from portbench.firmware.images import ImageStore
from portbench.results.environment import describe_machine
from portbench.results.model import Status
from portbench.runner.checks import rows as bench_rows
from portbench.runner.checks.check import Check, Finding, Report, Target, Tell, number
from portbench.runner.checks.speed.baselines import Baseline, rp2040js, rp2040py, rp2350js
from portbench.runner.checks.speed.cores import measure_cores
from portbench.runner.checks.speed.history import ROWS as HISTORY_ROWS
from portbench.runner.checks.speed.history import measure_history
from portbench.runner.checks.speed.loop import LoopSpeed, measure_loops, median
from portbench.runner.checks.speed.many import measure_many, measure_process
from portbench.runner.checks.speed.pio import BOARD as PIO_BOARD
from portbench.runner.checks.speed.pio import measure_pio
from portbench.runner.checks.speed.probes import measure_probes, ratios, unprobed_engine
from portbench.runner.checks.speed.repl import ReplMachine
from portbench.runner.collect import one_line
from portbench.runner.options import BenchOptions
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
RP2350_RUNTIME = "wiznet-w5500-evb-pico2-1.27.0-preview.85"
RP2350_BOARD = "W5500_EVB_PICO2"
RP2350_ROWS: tuple[tuple[str, str, str], ...] = (
    *((RP2350_RUNTIME, "tuned", name) for name in ("ping_pong", "http", "bulk", "duplex")),
    (RP2350_RUNTIME, "as-published", "interpreter"),
)
"""Runtime, profile and workload on that board."""
_EIGHT = 8
_MEBI = 1 << 20
_PART_S = 300.0
_QUICK_ROWS = 200
_PIO_CYCLES = 25_000_000
_QUICK_PIO_CYCLES = 200_000
_TWO_CORES_BOARD = "RPI_PICO"
_TWO_CORES_CYCLES = 25_000_000
_QUICK_TWO_CORES_CYCLES = 200_000

Part = Callable[["Speed"], Iterator[Finding]]
Other = tuple[str, Callable[[Path, Deadline], Baseline], float]
"""Another emulator: its name, how to measure it, and the least ratio to it."""


class Speed(Check):
    """A part is one aspect of the emulated board."""

    name = "speed"

    def __init__(self, tell: Tell, definition: BoardDefinition, store: ImageStore, quick: bool, project: Path) -> None:
        """`quick`: rows and guests as short as possible, without targets for them."""
        super().__init__(tell)
        self.definition = definition
        self.quick = quick
        self.project = project
        self.store = store
        self._known = catalogue.load()

    def parts(self) -> Mapping[str, str]:
        return {name: (part.__doc__ or "").rstrip(".") for name, part in PARTS.items()}

    def run(self, part: str) -> Report:
        findings: list[Finding] = []
        try:
            for finding in PARTS[part](self):
                findings.append(finding)
        except PortbenchError as error:
            if not findings:
                raise
            findings.append(Finding(self.parts()[part], note=one_line(str(error))))
        missed = [each for each in findings if each.met is False and each.value is not None]
        faults = tuple(
            f"{each.name}: {number(each.value)} {each.unit}, not {each.target.kind} {number(each.target.bound)}"
            for each in missed
            if each.value is not None and each.target is not None
        )
        return Report(part, self.parts()[part], tuple(findings), faults=faults)

    def summary(self, reports: Sequence[Report]) -> Iterator[str]:
        machine = describe_machine()
        yield (
            f"{machine.processor}, {machine.cores} cores, load {self.load_before:.1f} before the start. Loops, starts"
            " and rows are in CPU time, boards at once in elapsed time."
        )

    def image(self, runtime: str) -> Path:
        """The UF2. Raises PortbenchError."""
        path = self.store.obtain(self._known.get(runtime)).path
        assert path is not None
        return path

    def deadline(self, what: str) -> Deadline:
        return Deadline(_PART_S, what)


def loop(check: Speed) -> Iterator[Finding]:
    """MicroPython's empty loop on the engine, on the chip (by simulated time) and on other emulators."""
    others: tuple[Other, ...] = (("rp2040py", rp2040py, 40.0), ("rp2040js", rp2040js, 5.5))
    yield from _loop(check, MICROPYTHON, check.definition, (150, 2), others)


def rp2350(check: Speed) -> Iterator[Finding]:
    """MicroPython on an RP2350: its empty loop on the engine, on the chip and on rp2350js, and whole rows."""
    definition = board_definition(RP2350_BOARD)
    yield from _loop(check, RP2350_RUNTIME, definition, (270, 3), (("rp2350js", rp2350js, 50.0),))
    yield from _against_real_time(check, definition, RP2350_ROWS)


def _loop(
    check: Speed,
    runtime: str,
    definition: BoardDefinition,
    least: tuple[float, float],
    others: Sequence[Other],
) -> Iterator[Finding]:
    """`least`: M instr/s, and times real time."""
    what = f"{runtime} loop"
    image = check.image(runtime)
    made, interpreted = (
        measure_loops(image, definition, check.deadline(what), translated=translated) for translated in (True, False)
    )
    for one, other in zip(made, interpreted, strict=True):
        if (one.simulated_s, one.instructions) != (other.simulated_s, other.instructions):
            raise BoardError(f"{what}: {other.simulated_s} s interpreted, {one.simulated_s} s translated; report it")
    speed, plain = median(made), median(interpreted)
    chip = f"the chip at {speed.clk_sys_hz / 1e6:g} MHz: {speed.chip_instructions_per_s / 1e6:.1f} M/s"
    executed = f"{speed.iterations} iterations, {speed.instructions / 1e6:.1f} M instructions in {speed.cpu_s:.2f} s"
    instructions, times = (Target("at least", bound) for bound in least)
    yield Finding(f"{what}: speed", speed.instructions_per_s / 1e6, "M instr/s", instructions, executed)
    yield Finding(f"{what}: against the chip", speed.times_real_time, "x real time", times, chip)
    either_way = f"{plain.instructions_per_s / 1e6:.1f} M instr/s, {plain.simulated_s:.3f} simulated s either way"
    yield Finding(f"{what}: against interpreting it", plain.cpu_s / speed.cpu_s, "x", None, either_way)
    for name, measure, bound in others:
        yield _against(what, name, measure, bound, image, speed, check)


def _against(
    what: str,
    name: str,
    measure: Callable[[Path, Deadline], Baseline],
    least: float,
    image: Path,
    speed: LoopSpeed,
    check: Speed,
) -> Finding:
    target = Target("at least", least)
    try:
        baseline = measure(image, check.deadline(name))
    except PortbenchError as error:
        return Finding(f"{what}: against {name}", None, f"x {name}", target, str(error))
    ratio = speed.iterations_per_s / baseline.iterations_per_s
    theirs = baseline.iterations_per_s * speed.instructions / speed.iterations / 1e6
    note = f"{baseline.name}: {baseline.iterations} iterations in {baseline.cpu_s:.2f} s, {theirs:.1f} M instr/s"
    return Finding(f"{what}: against {name}", ratio, f"x {name}", target, note)


def circuitpython(check: Speed) -> Iterator[Finding]:
    """CircuitPython from power-up to its prompt: the first time, when it formats its drive, and again."""
    what = f"{CIRCUITPYTHON} to its prompt"
    board = ReplMachine(check.image(CIRCUITPYTHON), check.definition)
    deadline = check.deadline(what)
    for occasion in ("first start", "again"):
        cpu_s = board.start(deadline) if occasion == "first start" else board.restart(deadline)
        note = f"{board.machine.time_us / 1e6:.2f} s on the chip"
        yield Finding(f"{what}: {occasion}", cpu_s, "s", Target("below", 2.0), note)


def boards(check: Speed) -> Iterator[Finding]:
    """Memory of one board's process, and eight boards at once."""
    image = check.image(MICROPYTHON)
    process_bytes = measure_process(image, check.definition, check.deadline("one board"))
    yield _memory("one board: memory of its process", process_bytes, "largest so far, at its prompt")
    many = measure_many(image, check.definition, _EIGHT, check.deadline(f"{_EIGHT} boards"))
    what = f"{_EIGHT} boards in one process"
    yield _memory(f"{what}: memory of each", many.board_bytes, "added to the process by each")
    slowest = f"the slowest at {many.slowest_times_real_time:.2f} x real time"
    yield Finding(f"{what}: speed", many.instructions_per_s / 1e6, "M instr/s", None, slowest)


def _memory(name: str, value: int | None, note: str) -> Finding:
    target = Target("below", 64)
    if value is None:
        return Finding(name, None, "MiB", target, "this system has no /proc")
    return Finding(name, value / _MEBI, "MiB", target, note)


def probes(check: Speed) -> Iterator[Finding]:
    """The cost of an attribution, a trace and a profile while they are on, and while they are off."""
    engine = unprobed_engine(check.project)
    image = PING_PONG.native()
    assert image is not None  # it is in the repository
    rounds = 1 if check.quick else 7
    cost = measure_probes(image, check.definition, engine, check.deadline("probes"), rounds=rounds)
    for name, ratio, note in ratios(cost):
        yield Finding(f"probes: {name}", ratio, "x", None, note)
    if engine is None:
        yield Finding("probes: all probes off against an engine without", None, "x", None, "build one: make unprobed")


def rows(check: Speed) -> Iterator[Finding]:
    """CPU time of whole rows, from the power cycle to the result, measured as `portbench run` measures them."""
    options = BenchOptions(runtimes=tuple(dict.fromkeys(runtime for runtime, _ in ROWS)))
    wanted = {(*key, PING_PONG.name): target for key, target in ROWS.items()}
    for name, target, took in _measured(check, options, wanted):
        if isinstance(took, str):
            yield Finding(name, None, "s", target, took)
        else:
            simulated_s, host_s = took
            note = f"{simulated_s:.2f} s on the chip, {simulated_s / host_s:.2f} x real time"
            yield Finding(name, host_s, "s", None if check.quick else target, note)


def pico_w(check: Speed) -> Iterator[Finding]:
    """Speed of a Pico W's rows, with the gSPI traffic of its radio, against real time."""
    yield from _against_real_time(check, board_definition(PIO_BOARD), PICO_W_ROWS)


def _against_real_time(
    check: Speed, definition: BoardDefinition, wanted: Sequence[tuple[str, str, str]]
) -> Iterator[Finding]:
    options = BenchOptions(
        board=definition,
        runtimes=tuple(dict.fromkeys(runtime for runtime, _, _ in wanted)),
        workloads=tuple(workload(name) for name in dict.fromkeys(name for _, _, name in wanted)),
        workloads_by_name=False,
    )
    for name, target, took in _measured(check, options, dict.fromkeys(wanted, Target("at least", 1))):
        if isinstance(took, str):
            yield Finding(name, None, "x real time", target, took)
        else:
            simulated_s, host_s = took
            note = f"{simulated_s:.2f} s on the chip in {host_s:.2f} s"
            yield Finding(name, simulated_s / host_s, "x real time", None if check.quick else target, note)


def _measured(
    check: Speed, options: BenchOptions, wanted: Mapping[tuple[str, str, str], Target | None]
) -> Iterator[tuple[str, Target | None, tuple[float, float] | str]]:
    """The name of each row, and its simulated and host seconds, or the reason why there are none."""
    measured = bench_rows.measured(replace(options, quick=check.quick), check.store, wanted)
    for (runtime, profile, name), row in zip(wanted, measured, strict=True):
        took: tuple[float, float] | str = row.reason or ""
        if row.status is Status.MEASURED and row.sim is not None and row.sim.host_s is not None:
            took = row.sim.counters["simulated_us"] / 1e6, row.sim.host_s
        yield f"{runtime} {profile}: {name}", wanted[runtime, profile, name], took


def pio(check: Speed) -> Iterator[Finding]:
    """A state machine and a DMA channel that never rest, as a Pico W's have it in bulk transfers."""
    what = "gSPI without a pause"
    cycles, rounds = (_QUICK_PIO_CYCLES, 1) if check.quick else (_PIO_CYCLES, 3)
    speed = measure_pio(board_definition(PIO_BOARD), cycles, rounds)
    target = None if check.quick else Target("at least", 1)
    note = f"{speed.cycles / 1e6:g} M cycles at 125 MHz, polled by a core, in {speed.plain_s:.3f} s"
    yield Finding(f"{what}: against the chip", speed.chip_s / speed.plain_s, "x real time", target, note)
    note = f"{speed.other_s:.3f} s against {speed.plain_s:.3f} s"
    yield Finding(f"{what}: against an event for each edge", speed.other_s / speed.plain_s, "x", None, note)


def cores(check: Speed) -> Iterator[Finding]:
    """Both cores, each in a loop that never ends, beside one of them."""
    what = "two busy cores"
    cycles, rounds = (_QUICK_TWO_CORES_CYCLES, 1) if check.quick else (_TWO_CORES_CYCLES, 3)
    speed = measure_cores(board_definition(_TWO_CORES_BOARD), cycles, rounds)
    note = f"{speed.cycles / 1e6:g} M cycles in {speed.other_s:.3f} s"
    yield Finding(f"{what}: for a simulated second at 125 MHz", speed.other_s / speed.chip_s, "s", None, note)
    note = f"{speed.other_s:.3f} s against {speed.plain_s:.3f} s"
    yield Finding(f"{what}: against one alone", speed.other_s / speed.plain_s, "x", None, note)


def history(check: Speed) -> Iterator[Finding]:
    """Time to load a history of many rows."""
    speed = measure_history(_QUICK_ROWS if check.quick else HISTORY_ROWS)
    what = f"history of {speed.rows} rows"
    yield Finding(f"{what}: load", speed.load_s, "s", None if check.quick else Target("below", 1.0))
    yield Finding(f"{what}: beside its JSON alone", speed.load_s / speed.json_s, "x", Target("below", 3.0))


PARTS: dict[str, Part] = {
    "loop": loop,
    "rp2350": rp2350,
    "circuitpython": circuitpython,
    "boards": boards,
    "rows": rows,
    "pico-w": pico_w,
    "probes": probes,
    "pio": pio,
    "cores": cores,
    "history": history,
}
