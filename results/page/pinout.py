"""A board from above, drawn from its definition: the pins of its header, and the wires to them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from portbench.results.page.drawing import INK, LINES, SOFT, Place, colour, marks, spec
from portbench.results.page.parts import Chart, Data, PagePart, Paragraph, Section, Value

_BOARD, _HAND, _FREE = colour(0), colour(1), LINES
_PIN: Final = 22.0
"""Pixels of a pin's height."""
_WIDTH: Final = 0.36
"""The board's share of the drawing's width; the rest is for words."""
_ROOM: Final = 200
"""Pixels of a board with chips between the names of its pins."""


@dataclass(frozen=True)
class HeaderPin:
    """A pin of the header. `wired`: the signal there, as `W5500 SCK`; empty where it is free."""

    number: int
    name: str
    wired: str = ""
    by_hand: bool = False
    """A place for a part that is not on the board."""

    @property
    def look(self) -> str:
        return _FREE if not self.wired else _HAND if self.by_hand else _BOARD

    @property
    def says(self) -> str:
        return f"pin {self.number}, {self.name}: {self.wired or 'free'}"


@dataclass(frozen=True)
class BoardPicture:
    """`left` and `right`: pins from the USB socket down. `chips`: in the same order."""

    title: str
    chips: tuple[str, ...]
    left: tuple[HeaderPin, ...]
    right: tuple[HeaderPin, ...]
    inside: tuple[str, ...]
    """Wires to GPIOs that are not on the header, as `GP24 held at 3.3 V`."""

    @property
    def wired(self) -> list[HeaderPin]:
        return [pin for pin in (*self.left, *self.right) if pin.wired]


def board_part(boards: Sequence[BoardPicture]) -> PagePart | None:
    """The part with a section for each board. Raises LibraryMissing."""
    return PagePart("Pins", tuple(map(_section, boards))) if boards else None


def _section(board: BoardPicture) -> Section:
    taken = [pin for pin in board.wired if not pin.by_hand]
    says = f"{board.title}: {len(taken)} pins of its header are taken"
    says += ", " + ", ".join(f"{pin.name} by {pin.wired}" for pin in taken) + "." if taken else "."
    legend = [(_BOARD, "taken by the board"), (_HAND, "for a card's socket that you wire"), (_FREE, "free, or power")]
    drawn = {pin.look for pin in (*board.left, *board.right)}
    rows: list[dict[str, Value]] = [
        {"pin": pin.number, "name": pin.name, "wired to": pin.wired}
        for pin in sorted((*board.left, *board.right), key=lambda pin: pin.number)
    ]
    chart = Chart.of(
        f"{board.title}, from above",
        says,
        lambda width: drawing(board, width),
        Data.of(f"{board.title} pins", rows),
        tuple(each for each in legend if each[0] in drawn),
    )
    said = [Paragraph(f"Not on the header: {', '.join(board.inside)}.")] if board.inside else []
    return Section(board.title, tuple(said), charts=(chart,))


def drawing(board: BoardPicture, width: int) -> dict[str, Any]:
    """For that many pixels of width: the board in the middle, names of pins in it, wires beside it, and the chips
    where there is room."""
    count = max(len(board.left), len(board.right))
    left, right = width * (1 - _WIDTH) / 2, width * (1 + _WIDTH) / 2
    outline: list[Place] = [_box(left, right, -1.0, count, LINES)]
    socket = (right - left) / 5
    middle = (left + right) / 2
    usb: list[Place] = [_box(middle - socket / 2, middle + socket / 2, -1.35, -0.3, SOFT)]
    named: list[Place] = [{"x": middle, "y": -0.75, "text": "USB"}]
    fitting = board.chips if right - left >= _ROOM else ()
    step = count / (len(fitting) + 1)
    chips: list[Place] = []
    for number, chip in enumerate(fitting, 1):
        at, half = step * number - 0.5, (right - left) / 6
        chips.append(_box(middle - half, middle + half, at - 1.2, at + 1.2, LINES))
        named.append({"x": middle, "y": at, "text": chip})
    pads: list[Place] = []
    layers = []
    for pins, edge, side, align in ((board.left, left, 1, "left"), (board.right, right, -1, "right")):
        inner: list[Place] = []
        outer: list[Place] = []
        for at, pin in enumerate(pins):
            pads.append({**_box(edge - 5, edge + 5, at - 0.3, at + 0.3, pin.look), "says": pin.says})
            inner.append({"x": edge + 9 * side, "y": at, "text": pin.name, "colour": INK if pin.wired else SOFT})
            if pin.wired:
                outer.append({"x": edge - 9 * side, "y": at, "text": pin.wired})
        other = "right" if align == "left" else "left"
        layers += [marks("text", inner, align=align, fontSize=11), marks("text", outer, align=other, fontSize=12)]
    shapes = [
        marks("rect", outline, filled=False, strokeWidth=2, cornerRadius=8),
        marks("rect", usb, filled=False, cornerRadius=2),
        marks("rect", chips, filled=False, cornerRadius=4),
        marks("text", named, align="center", fontSize=11),
        marks("rect", pads, cornerRadius=2),
    ]
    x, y = {"domain": [0, width], "hidden": True}, {"domain": [count + 0.3, -1.6], "hidden": True}
    return spec(width, _PIN * (count + 1.9), x, y, [*shapes, *layers])


def _box(left: float, right: float, top: float, bottom: float, look: str) -> Place:
    return {"x": left, "x2": right, "y": top, "y2": bottom, "colour": look}
