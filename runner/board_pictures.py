"""Pictures of boards for pages, from their definitions."""

from collections.abc import Iterable, Iterator
from typing import Final

from portbench.boards import BoardDefinition, known_boards
from portbench.results.page.pinout import BoardPicture, HeaderPin

_LEFT: Final = "GP0 GP1 GND GP2 GP3 GP4 GP5 GND GP6 GP7 GP8 GP9 GND GP10 GP11 GP12 GP13 GND GP14 GP15"
_RIGHT: Final = "VBUS VSYS GND 3V3_EN 3V3 ADC_VREF GP28 AGND GP27 GP26 RUN GP22 GND GP21 GP20 GP19 GP18 GND GP17 GP16"
"""From the USB socket down: the Pico's data sheet, 2.1."""


def board_pictures(boards: Iterable[str | None]) -> list[BoardPicture]:
    """Pictures of the known boards with the Pico's header, by their ids."""
    known = known_boards()
    found = (known[board] for board in dict.fromkeys(boards) if board in known)
    return [_picture(board) for board in found if board.header == "pico"]


def _picture(board: BoardDefinition) -> BoardPicture:
    wires = {f"GP{pin}": (what, by_hand) for pin, what, by_hand in _wires(board)}
    left, right = _LEFT.split(), _RIGHT.split()
    pins = {name: wires.pop(name, ("", False)) for name in (*left, *right)}
    return BoardPicture(
        board.title,
        (board.mcu, *([board.network.chip] if board.network else [])),
        tuple(HeaderPin(number, name, *pins[name]) for number, name in enumerate(left, 1)),
        tuple(HeaderPin(40 - at, name, *pins[name]) for at, name in enumerate(right)),
        tuple(f"{name} {what}" for name, (what, _) in sorted(wires.items())),
    )


def _wires(board: BoardDefinition) -> Iterator[tuple[int, str, bool]]:
    """GPIO, signal, and whether the user has to wire it. The board's own parts come last and win."""
    if board.sd_card is not None:
        yield from ((pin, f"SD card {_signal(name)}", True) for name, pin in board.sd_card.pins.items())
    yield from ((pin, f"held at {volts:g} V", False) for pin, volts in board.pins.items())
    if board.network is not None:
        yield from ((pin, f"{board.network.chip} {_signal(name)}", False) for name, pin in board.network.pins.items())


def _signal(name: str) -> str:
    """`SCK` of `sck_pin`."""
    return name.removesuffix("_pin").upper()
