"""The guests of ATmegas, and the wires of a payload byte."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from portbench.boards import board_definition
from portbench.runner.silicon import guests

pytestmark = pytest.mark.engine


def clocked(path: Path) -> Iterator[tuple[int, int, int]]:
    """Chip select, MOSI and MISO at each rising edge of SCK, as a logic analyser reads SPI mode 0."""
    names, levels = {}, {}
    for line in path.read_text(encoding="ascii").splitlines():
        words = line.split()
        if line.startswith("$var"):
            names[words[3]] = words[4]
        elif line[:1] in "01" and line[1:] in names:
            name, level = names[line[1:]], int(line[0])
            before, levels[name] = levels.get(name), level
            if name == "SCK" and (before, level) == (0, 1):
                yield levels["CSn"], levels["MOSI"], levels["MISO"]


@pytest.mark.parametrize(
    ("guest", "board", "sent"),
    [("ping_w5100", "GOLDILOCKS_1284P_W5100", 4), ("ping_w5200", "GOLDILOCKS_1284P_W5200", 1)],
)
def test_a_payload_byte_takes_four_bytes_or_one(guest: str, board: str, sent: int, tmp_path: Path) -> None:
    path = tmp_path / "wires.vcd"
    guests.write_waveform(guest, board, path)
    edges = list(clocked(path))
    assert len(edges) == 8 * sent and not any(csn for csn, _, _ in edges)
    shifted = [int("".join(str(mosi) for _, mosi, _ in edges[at : at + 8]), 2) for at in range(0, len(edges), 8)]
    assert shifted[-1] == 99 * 7 & 0xFF  # the 100th byte of a ping
    if sent == 4:
        # Write; an address in socket 0's 8 KiB of the transmit memory.
        assert shifted[0] == 0xF0 and 0x40 <= shifted[1] < 0x60


def test_a_guest_is_started_before_it_is_used() -> None:
    board = guests.started("fill", board_definition("ARDUINO_MEGA2560"))
    assert board.network.link_up
