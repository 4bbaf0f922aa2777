"""The check against silicon without an image: faults, the summary, and the output of published programs."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portbench.boards import BoardDefinition, BoardError, Deadline
from portbench.errors import PortbenchError
from portbench.firmware import uf2
from portbench.firmware.images import ImageStore
from portbench.results.silicon import FigureSet, Script
from portbench.runner.checks.check import faults
from portbench.runner.checks.silicon.check import Silicon
from portbench.runner.checks.silicon.compare import compare, summary, within
from portbench.runner.checks.silicon.scripts import ScriptStore
from portbench.runner.checks.silicon.turnaround import Distribution, measure
from portbench.workloads import workload


def figures(relation: str = "same binary", **silicon: float) -> FigureSet:
    return FigureSet.model_validate(
        {
            "id": "a-set",
            "what": "loops",
            "source": "somebody",
            "board": "RPI_PICO",
            "measured_on": "CircuitPython 9.1.4",
            "runtime": "circuitpython-pico-9.1.4",
            "relation": relation,
            "unit": "ms",
            "method": "row",
            "workload": "interpreter",
            "profile": "default",
            "note": "why not",
            "silicon": silicon or {"a": 1000.0},
        }
    )


@pytest.mark.parametrize(
    ("relation", "emulated", "kept", "fault"),
    [
        ("same binary", 1010.0, True, False),
        ("same binary", 990.0, True, False),
        ("same binary", 1010.1, False, True),
        ("same binary", 989.9, False, True),
        ("other version", 1040.0, True, False),
        ("other version", 1041.0, False, False),
        ("other conditions", 5000.0, None, False),
    ],
)
def test_only_the_same_binary_is_held_to_silicon(
    relation: str, emulated: float, kept: bool | None, fault: bool
) -> None:
    report = compare(figures(relation), {"a": [emulated]})
    assert (report.findings[0].met, bool(faults([report]))) == (kept, fault)


@pytest.mark.engine
def test_a_row_is_measured_with_the_sets_settings() -> None:
    changes = {"runtime": "portbench-native", "workload": "sd_card", "profile": "tuned"}
    few = figures("other conditions", read_total_us=8636.0).model_copy(
        update={**changes, "settings": ("file_bytes=8192",)}
    )
    (found,) = Silicon(lambda _: None)._row(few).findings
    assert found.value == 8636


def test_one_step_of_what_was_published_is_no_difference() -> None:
    steps = figures(a=97.0, b=958.0).model_copy(update={"resolution": 1.0})
    assert within(compare(steps, {"a": [98.0], "b": [967.0]}).findings) == 2
    assert within(compare(steps, {"a": [98.1], "b": [968.0]}).findings) == 0


def test_a_figure_that_did_not_come_is_a_fault() -> None:
    report = compare(figures(a=1.0, b=2.0), {"a": [1.0]})
    assert report.faults == ("a-set: b: no figure",)
    assert report.findings[1].ratio is None and within(report.findings) == 1


@given(st.floats(0.001, 1e9), st.floats(0.5, 2.0))
def test_a_ratio_is_what_it_says(silicon: float, ratio: float) -> None:
    (found,) = compare(figures(a=silicon), {"a": [silicon * ratio]}).findings
    assert found.ratio == pytest.approx(ratio)


def test_a_range_has_its_middle() -> None:
    (found,) = compare(figures("other conditions", a=1.383), {"a": [1.1, 1.2, 1.4]}).findings
    assert (found.least, found.value, found.most) == (1.1, 1.2, 1.4)


def test_the_summary_counts_what_was_measured() -> None:
    same, other = figures(a=1.0, b=1.0), figures("other version", a=1.0)
    pairs = [(same, compare(same, {"a": [1.0], "b": [1.02]})), (other, compare(other, {"a": [1.03]}))]
    assert summary(pairs) == (
        "1 of 2 figures of the same image are within 1% of silicon; "
        "1 of 1 figures of a neighbouring version are within 4% of silicon"
    )
    assert summary([]) == ""


def script(content: bytes, file: str = "somebody/it.py") -> Script:
    return Script(
        file=file, url="https://example.invalid/it.py", sha256=hashlib.sha256(content).hexdigest(), licence="MIT"
    )


def test_a_script_is_taken_from_the_cache_by_its_hash(tmp_path: Path) -> None:
    store = ScriptStore(tmp_path, offline=True)
    (tmp_path / "somebody").mkdir()
    (tmp_path / "somebody" / "it.py").write_bytes(b"print(1)\n")
    assert store.obtain(script(b"print(1)\n")) == b"print(1)\n"
    with pytest.raises(PortbenchError, match=r"it\.py: sha256 is .*, not .*; remove it, and get it again: curl "):
        store.obtain(script(b"print(2)\n"))


def test_a_script_that_is_missing_is_one_line_with_what_provides_it(tmp_path: Path) -> None:
    with pytest.raises(PortbenchError, match="curl -fL --create-dirs -o ") as caught:
        ScriptStore(tmp_path, offline=True).obtain(script(b""))
    assert "\n" not in str(caught.value) and not list(tmp_path.iterdir())


def test_a_distribution_is_of_what_was_measured() -> None:
    spread = Distribution.of([float(value) for value in range(1, 102)])
    assert (spread.count, spread.p10_us, spread.median_us, spread.p90_us) == (101, 11.0, 51.0, 91.0)
    assert spread.whole_us() == [11, 51, 91]


def test_this_pcs_turnaround_is_measured_with_the_workloads_own_server() -> None:
    spread = measure(workload("ping_pong"))
    assert 0 < spread.p10_us <= spread.median_us <= spread.p90_us
    assert spread.count == 2000


@pytest.mark.engine
class TestPrinted:
    """The programs' output; the module that reads it is imported here, since it needs the engine."""

    SAID = "Loop 10 times\r\nCalculation time: 97 ms\r\n\r\nPi 9 bits\r\nError occurred during operation!\r\n"

    def test_what_the_script_says_of_each_is_read_and_an_error_left_out(self) -> None:
        from portbench.runner.checks.silicon.programs import is_whole, values

        assert values(self.SAID, ["Loop 10 times", "Pi 9 bits"], "x") == {"Loop 10 times": [97.0]}
        assert values(self.SAID, ["Loop 10 times"], "x") == {"Loop 10 times": [97.0]}
        assert is_whole(self.SAID, ["Loop 10 times", "Pi 9 bits"]) and not is_whole(self.SAID, ["Pi 10 bits"])
        # As it comes, a line may not be whole yet.
        for end in range(len(self.SAID)):
            assert not is_whole(self.SAID[:end], ["Loop 10 times", "Pi 9 bits"])
        assert is_whole("Traceback (most recent call last):\r\n", ["A"]) and is_whole("\r\nTest finished.\r\n", ["A"])

    def test_what_is_not_said_or_no_number_is_told(self) -> None:
        from portbench.runner.checks.silicon.programs import values

        with pytest.raises(BoardError, match="x: the script ended without B; it said "):
            values("A\r\nCalculation time: 1 ms\r\n", ["A", "B"], "x")
        with pytest.raises(BoardError, match="x: A is 'soon', which is no number"):
            values("A\r\nCalculation time: soon ms\r\n", ["A"], "x")

    @pytest.mark.parametrize("printed", ["", "1 x y", "SKIP", "-1 -1 SKIP: no matching params", "0 5 ok"])
    def test_what_is_no_score_is_told(self, printed: str) -> None:
        from portbench.runner.checks.silicon.programs import score_of

        with pytest.raises(BoardError, match=r"^bm: "):
            score_of(printed, "bm")

    def test_a_score_is_the_norm_by_the_time(self) -> None:
        from portbench.runner.checks.silicon.programs import score_of

        assert score_of("2000 4 None", "bm") == 2000.0


@pytest.mark.engine
class TestImage:
    PASSES = b"KB/Sec,usec,usec,usec\r\n447.9599, 9966, 1004, 1140\r\n448.0803, 6864, 1005, 1140\r\n"
    READS = b"907.3829, 1188, 440, 563\r\n906.7247, 1182, 440, 564\r\nDone\r\n"

    def test_the_first_pass_of_each_way_counts(self) -> None:
        from portbench.runner.checks.silicon.printed import latencies_us

        assert latencies_us(self.PASSES + self.READS, "x") == {
            "write_latency_max_us": 9966,
            "write_latency_min_us": 1004,
            "write_latency_avg_us": 1140,
            "read_latency_max_us": 1188,
            "read_latency_min_us": 440,
            "read_latency_avg_us": 563,
        }
        with pytest.raises(BoardError, match=r"x: printed 2 lines of figures, not 4; it said "):
            latencies_us(self.PASSES, "x")

    def test_without_the_image_its_sources_are_told(self, tmp_path: Path) -> None:
        store = ImageStore(folder=tmp_path, cache=tmp_path, state=tmp_path)
        report = Silicon(lambda _: None, store=store).measure("sd-card-fatfs")
        assert "; provide it: build https://github.com/elehobica/pico_fatfs_test at 1b808a" in report.skipped
        assert "with pico-sdk 1.3.0 as its README says, into " in report.skipped and "\n" not in report.skipped
        assert report.skipped.endswith("/pico-fatfs-c.uf2")

    def test_an_image_that_does_not_start_is_told(self, tmp_path: Path) -> None:
        from portbench.runner.checks.silicon.printed import figures as printed

        path = tmp_path / "pico-fatfs-c.uf2"
        path.write_bytes(uf2.build(bytes(4096)))
        with pytest.raises(PortbenchError, match=r"pico-fatfs-c\.uf2: ended with "):
            printed(path, "RPI_PICO")


class ClientBoard:
    """A CircuitPython board that prints `says`, piece by piece, once it has files."""

    def __init__(self, *says: str) -> None:
        self.machine = self
        self.files: dict[str, bytes] = {}
        self.served: tuple[Any, ...] = ()
        self._says = list(says)

    def serve(self, *served: Any) -> None:
        self.served = served

    def run_until(self, until_ps: int) -> None:
        assert self.files == {} and self.served, "the PC is there first"

    def volume_apply(self, changes: list[tuple[str, str, bytes]]) -> None:
        self.files |= {path: content for _, path, content in changes}

    def read(self, within_us: int) -> bytes:
        return self._says.pop(0).encode()


class TestClient:
    @pytest.fixture(autouse=True)
    def _engine(self) -> None:
        pytest.importorskip("portbench_engine", reason="the engine is not built; run: make build")

    @staticmethod
    def took_ms(board: ClientBoard) -> float:
        from portbench.firmware import catalogue
        from portbench.runner.checks.silicon import programs

        entry = catalogue.load().get("circuitpython-9.1.4")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(programs, "ReplMachine", lambda image, definition: board)
            code, libraries = b'server = "192.168.1.247"', {"lib/driver.py": b"1"}
            definition = cast(BoardDefinition, None)
            return programs.client_ms(entry, Path("an.uf2"), definition, code, "192.168.1.247:5000", libraries)

    def test_it_calls_the_simulated_pc_which_echoes(self) -> None:
        board = ClientBoard("debug\r\n" * 3000 + "Total ti", "me: 80905", "\r\nDone\r\n")
        assert self.took_ms(board) == 80905.0
        assert board.files == {"lib/driver.py": b"1", "code.py": b'server = "192.168.50.1"'}
        port, _, part = board.served
        conversation = part.serve()
        assert port == 5000 and conversation.receive(b"12") == b"12" and conversation.exchanges == 1

    def test_an_exception_is_told(self) -> None:
        said = (
            "Traceback (most recent call last):\r\nOSError\r\n",
            "Press any key to enter the REPL. Use CTRL-D to reload.\r\n",
        )
        with pytest.raises(BoardError, match=r"ended without a time; it said .*OSError"):
            self.took_ms(ClientBoard(*said))


class PastingBoard:
    """MicroPython's raw prompt with raw paste, whose windows are `window` bytes; `refuses`: after so many."""

    def __init__(self, window: int, refuses: int | None = None) -> None:
        self.machine = self
        self.time_us = 0.0
        self.got = b""
        self.overrun = False
        self._window, self._refuses = window, refuses
        self._says = b""
        self._pasting = False
        self._room = 0

    def start(self, deadline: Deadline) -> None:
        self._says += b">>> "

    def read(self, within_us: int) -> bytes:
        assert within_us > 0
        self.time_us += within_us
        says, self._says = self._says, b""
        return says

    def console_write(self, data: bytes) -> None:
        if self._pasting:
            self._paste(data)
        elif data == b"\x05A\x01":
            self._pasting, self._room = True, 2 * self._window
            self._says += b"R\x01" + self._window.to_bytes(2, "little") + b"\x01"
        elif data != b"\r\x03" and not self.got:
            assert data in (b"\x01", b"\r\x01", b"\x04")
            restarted = b"OK\r\nMPY: soft reboot\r\n" if data == b"\x04" else b"\r\n"
            self._says += restarted + b"raw REPL; CTRL-B to exit\r\n>"

    def _paste(self, data: bytes) -> None:
        if data == b"\x04":
            self._says += b"\x04printed\r\n"
            return
        self.overrun |= len(data) > self._room
        self._room -= len(data)
        self.got += data
        if self._refuses is not None and len(self.got) >= self._refuses:
            self._pasting = False
            self._says += b"\x04\x04MemoryError: \r\n\x04>"
            return
        while self._room <= self._window:
            self._room += self._window
            self._says += b"\x01"


@pytest.mark.engine
class TestPasted:
    @staticmethod
    def pasted(board: PastingBoard, script: str) -> bytes:
        """What the board prints after it has got the script."""
        from portbench.runner.checks.silicon import raw_prompt

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(raw_prompt, "ReplMachine", lambda image, definition, bridge: board)
            definition, deadline = cast(BoardDefinition, None), Deadline(60.0, "the script")
            prompt = raw_prompt.RawPrompt(Path("an.uf2"), definition, deadline, pastes=True)
        prompt.soft_reset()
        prompt.start(script)
        return prompt.read()

    @given(st.text("abc \n", min_size=2, max_size=400), st.integers(1, 64))
    def test_a_script_arrives_whole_and_never_faster_than_the_board_asks(self, script: str, window: int) -> None:
        board = PastingBoard(window)
        assert self.pasted(board, script) == b"printed\r\n"
        # mpremote adds a line feed where the script would fill its USB packets.
        assert board.got.rstrip(b"\n") == script.encode().rstrip(b"\n") and not board.overrun

    def test_a_script_that_the_board_does_not_take_has_ended(self) -> None:
        from portbench.runner.checks.silicon.programs import is_whole

        assert is_whole(self.pasted(PastingBoard(16, refuses=40), "x" * 100).decode(), ["A"])
