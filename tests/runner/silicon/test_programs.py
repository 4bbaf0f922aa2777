"""The output of published programs, without an image of theirs."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from portbench.boards import BoardError, board_definition
from portbench.errors import PortbenchError
from portbench.firmware import catalogue, uf2
from portbench.firmware.images import ImageStore
from portbench.results.silicon import load
from portbench.runner.silicon import printed, programs
from portbench.runner.silicon.check import Silicon
from portbench.runner.silicon.programs import is_whole, score_of, values

pytestmark = pytest.mark.engine
SAID = "Loop 10 times\r\nCalculation time: 97 ms\r\n\r\nPi 9 bits\r\nError occurred during operation!\r\n"
PASSES = b"KB/Sec,usec,usec,usec\r\n447.9599, 9966, 1004, 1140\r\n448.0803, 6864, 1005, 1140\r\n"
READS = b"907.3829, 1188, 440, 563\r\n906.7247, 1182, 440, 564\r\nDone\r\n"


def test_what_the_script_says_of_each_is_read_and_an_error_left_out() -> None:
    assert values(SAID, ["Loop 10 times", "Pi 9 bits"], "x") == {"Loop 10 times": 97.0}
    assert values(SAID, ["Loop 10 times"], "x") == {"Loop 10 times": 97.0}
    assert is_whole(SAID, ["Loop 10 times", "Pi 9 bits"]) and not is_whole(SAID, ["Pi 10 bits"])
    # As it comes, a line may not be whole yet.
    for end in range(len(SAID)):
        assert not is_whole(SAID[:end], ["Loop 10 times", "Pi 9 bits"])
    assert is_whole("Traceback (most recent call last):\r\n", ["A"]) and is_whole("\r\nTest finished.\r\n", ["A"])
    assert is_whole("\x04\x04MemoryError: \r\n\x04>", ["A"])  # the board did not take it


def test_what_is_not_said_or_no_number_is_told() -> None:
    with pytest.raises(BoardError, match="x: the script ended without B; it said "):
        values("A\r\nCalculation time: 1 ms\r\n", ["A", "B"], "x")
    with pytest.raises(BoardError, match="x: A is 'soon', which is not a number"):
        values("A\r\nCalculation time: soon ms\r\n", ["A"], "x")


@pytest.mark.parametrize("said", ["", "1 x y", "SKIP", "-1 -1 SKIP: no matching params", "0 5 ok"])
def test_what_is_no_score_is_told(said: str) -> None:
    with pytest.raises(BoardError, match=r"^bm: "):
        score_of(said, "bm")


def test_a_score_is_the_norm_by_the_time() -> None:
    assert score_of("2000 4 None", "bm") == 2000.0


def test_the_first_pass_of_each_way_counts() -> None:
    assert printed.latencies_us(PASSES + READS, "x") == {
        "write_latency_max_us": 9966,
        "write_latency_min_us": 1004,
        "write_latency_avg_us": 1140,
        "read_latency_max_us": 1188,
        "read_latency_min_us": 440,
        "read_latency_avg_us": 563,
    }
    with pytest.raises(BoardError, match=r"x: printed 2 lines of figures, not 4; it said "):
        printed.latencies_us(PASSES, "x")


def test_without_the_image_its_sources_are_told(tmp_path: Path) -> None:
    store = ImageStore(folder=tmp_path, cache=tmp_path, state=tmp_path)
    (publication,) = (each for each in load() if each.id == "sd-card-fatfs")
    report = Silicon(lambda _: None, store=store).measure(publication)
    assert "; provide it: build https://github.com/elehobica/pico_fatfs_test at 1b808a" in report.skipped
    assert "with pico-sdk 1.3.0 and GCC 8.3 as its README says, into " in report.skipped and "\n" not in report.skipped
    assert report.skipped.endswith("/pico-fatfs-c.uf2")


def test_an_image_that_does_not_start_is_told(tmp_path: Path) -> None:
    path = tmp_path / "pico-fatfs-c.uf2"
    path.write_bytes(uf2.build(bytes(4096)))
    with pytest.raises(PortbenchError, match=r"pico-fatfs-c\.uf2: ended with "):
        printed.figures(path, "RPI_PICO")


class ClientBoard:
    """A CircuitPython board that prints `says`, piece by piece, once it has files."""

    def __init__(self, *says: str) -> None:
        self.machine = self
        self.time_ps = 0
        self.files: dict[str, bytes] = {}
        self.served: tuple[Any, ...] = ()
        self._says = list(says)

    def serve(self, *served: Any) -> None:
        self.served = served

    def run_until(self, until_ps: int) -> None:
        assert self.files == {} and self.served, "the PC is there first"

    def volume_apply(self, changes: list[tuple[str, str, bytes]]) -> None:
        self.files |= {path: content for _, path, content in changes}

    def advance(self, until_ps: int) -> SimpleNamespace:
        return SimpleNamespace(printed=self._says.pop(0).encode())

    def took_ms(self, monkeypatch: pytest.MonkeyPatch) -> float:
        monkeypatch.setattr(programs, "_switched_on", lambda image, definition: self)
        entry = catalogue.load().get("circuitpython-9.1.4")
        code, libraries = b'server = "192.168.1.247"  # 192.168.1.247', {"lib/driver.py": b"1"}
        definition = board_definition("W5500_EVB_PICO")
        return programs.client_ms(entry, Path("an.uf2"), definition, code, "192.168.1.247:5000", libraries, 420)


def test_a_client_calls_the_simulated_pc_which_echoes(monkeypatch: pytest.MonkeyPatch) -> None:
    board = ClientBoard("debug\r\n" * 3000 + "Total ti", "me: 80905", "\r\nDone\r\n")
    assert board.took_ms(monkeypatch) == 80905.0
    assert board.files == {"lib/driver.py": b"1", "code.py": b'server = "192.168.50.1"  # 192.168.50.1'}
    port, turnaround_us, part = board.served
    conversation = part.service()()
    assert (port, turnaround_us) == (5000, 420)
    assert conversation.receive(b"12") == b"12" and conversation.exchanges == 1


def test_an_exception_in_a_client_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    ends = "Press any key to enter the REPL. Use CTRL-D to reload.\r\n"
    board = ClientBoard("Traceback (most recent call last):\r\nOSError\r\n", ends)
    with pytest.raises(BoardError, match=r"ended without a time; it said .*OSError"):
        board.took_ms(monkeypatch)
