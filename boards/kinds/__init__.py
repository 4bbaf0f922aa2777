"""The kinds of boards: a file each in this folder, found by listing. Its `KIND` says which boards are its own.

A file imports nothing that only an open board needs, so that a missing library fails no other row.
"""

import importlib
import os
import pkgutil
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final

from platformdirs import user_data_path

from portbench.boards.board import Board
from portbench.boards.definition import BoardDefinition
from portbench.boards.usb.bus import AUTO as AUTO
from portbench.boards.usb.bus import is_emulated, parse_selector
from portbench.errors import BoardUnavailable, BrokenSetup
from portbench.install import engine_again
from portbench.signals import deferred_interrupts
from portbench.where import Where

SAVED_FILES: Final = user_data_path("portbench") / "saved"
"""Folder for copies of the user's files on a real board, made before anything overwrites them."""
_ENGINE: Final = "portbench_engine"
_WHAT_FOLLOWS: Final = re.compile(r"[A-Z]+(:[A-Z]+)*$")


@dataclass(frozen=True)
class Listener:
    """Callbacks of a board: `log` gets one line per step, `ask_bootsel` the seconds left to press the button."""

    log: Callable[[str], None] = lambda line: None
    ask_bootsel: Callable[[float], None] = lambda seconds: None


SILENT: Final = Listener()


@dataclass(frozen=True)
class Wanted:
    """The board that a row needs.

    `device`: as `--device` names it, or `package:NAME` for a port that runs on this PC. `where`: the user's choice.
    `found`: where an earlier look has found the board. `surroundings`: fields of an emulated board's configuration.
    """

    board: BoardDefinition
    device: str = AUTO
    where: str = AUTO
    found: Where | None = None
    deployer: str = "mpremote"
    attribute: bool = False
    surroundings: Mapping[str, Any] = field(default_factory=dict)
    listener: Listener = SILENT

    @cached_property
    def is_real(self) -> bool:
        """True for a board on this PC's USB: the named one, unless that is a desk's; else one of this kind."""
        if self.found is not None:
            return self.found is Where.SILICON
        if self.device != AUTO:
            return not is_emulated(self.device, self.board)
        return self.where == Where.SILICON or (self.where == AUTO and _is_attached(self.board))


def serial_arguments(wanted: Wanted) -> dict[str, Any]:
    """Arguments of a board that is driven through its serial port."""
    return {
        "device": wanted.device,
        "deployer": wanted.deployer,
        "save_files_to": SAVED_FILES,
        "ask_bootsel": wanted.listener.ask_bootsel,
        "log": wanted.listener.log,
    }


@dataclass(frozen=True)
class Kind:
    """One kind of board.

    `name`: as errors call it. `board`: its class, as `MODULE:CLASS`. `where`: where its rows run; None: only the user
    knows. `words`: what `--device` begins with for a board of this kind, and in capitals what follows. `claims`: finds
    its boards without such a word. `arguments`: those of the class beside the definition. `runs_already`: a row waits
    for it to come back.
    """

    name: str
    board: str
    where: Where | None
    words: tuple[str, ...] = ()
    claims: Callable[[Wanted], bool] = lambda wanted: False
    arguments: Callable[[Wanted], Mapping[str, Any]] = serial_arguments
    runs_already: bool = False

    @property
    def prefixes(self) -> list[str]:
        """Return its words without what follows."""
        return [_WHAT_FOLLOWS.sub("", word) for word in self.words]

    def where_of(self, wanted: Wanted) -> Where:
        """Say where a row on the board runs."""
        return self.where or (Where.EMULATED if wanted.where == Where.EMULATED else Where.SILICON)

    def open(self, wanted: Wanted) -> Board:
        """Open the board. Raises BoardUnavailable if there is none, BrokenSetup if none of this kind can be opened."""
        if not self.words:
            _check_device(wanted.device)
        opened: Board = imported(self.board, self.name)(wanted.board, **self.arguments(wanted))
        return opened


def _kinds() -> list[Kind]:
    modules = (importlib.import_module(f"{__name__}.{each.name}") for each in pkgutil.iter_modules(__path__))
    return [module.KIND for module in modules]


def _check_device(device: str) -> None:
    try:
        parse_selector(device)
    except BoardUnavailable as error:
        known = str(error)
        words = [word for kind in _kinds() for word in kind.words if _WHAT_FOLLOWS.search(word) and word not in known]
        raise BoardUnavailable(", ".join([known, *words])) from None


def kind_of(wanted: Wanted) -> Kind:
    """The kind that claims the board."""
    known = _kinds()
    named = [kind for kind in known if any(map(wanted.device.startswith, kind.prefixes))]
    return next(kind for kind in named or known if named or kind.claims(wanted))


def imported(place: str, what: str) -> Any:
    """Import `MODULE:NAME`. Raises BoardUnavailable where a library is missing, BrokenSetup without the engine."""
    module, _, name = place.partition(":")
    try:
        with deferred_interrupts():  # CPython ends by SIGINT if Ctrl-C strikes while a dataclass is made
            return getattr(importlib.import_module(module), name)
    except ImportError as error:
        if (error.name or "").partition(".")[0] == _ENGINE and os.name == "posix":
            raise BrokenSetup(f"{what}: its engine is missing or damaged ({error}); {engine_again()}") from error
        raise BoardUnavailable(f"{what} cannot be used here ({error}); install what it needs") from error


def _is_attached(board: BoardDefinition) -> bool:
    try:
        return bool(imported("portbench.boards.usb.discovery:attached", "a board on USB")(board))
    except BoardUnavailable:
        return False
