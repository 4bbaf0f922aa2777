"""Links to a board's ports beside its folder. Their names stay the same while the ports come and go."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from portbench.files import replace_link


class PortLinks:
    """`BOARD.port`, `BOARD.port2`, `BOARD.uart0` and so on, for the board in `folder`.

    A link exists as long as its port, like a name from udev. The next board with that name has the same links.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._now: dict[str, str] = {}

    def path(self, what: str) -> Path:
        return self._folder.with_name(f"{self._folder.name}.{what}")

    def show(self, ports: Mapping[str, str | None]) -> None:
        """Link to these ports, by their kinds."""
        wanted = {what: port for what, port in ports.items() if port is not None}
        for what in self._now.keys() - wanted.keys():
            self.path(what).unlink(missing_ok=True)
        for what, port in wanted.items():
            if self._now.get(what) != port:
                replace_link(self.path(what), port)
        self._now = wanted

    def remove(self) -> None:
        with contextlib.suppress(OSError):
            self.show({})


def links_in(root: Path) -> Iterator[tuple[Path, str]]:
    """Return the links to ports in `root`, with the names of their boards."""
    for link in root.iterdir():
        board, dot, _ = link.name.rpartition(".")
        if dot and link.is_symlink() and str(link.readlink()).startswith("/dev/"):
            yield link, board
