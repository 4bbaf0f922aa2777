"""`RemoteBoard`: a board that is reached through its console alone, behind an RFC 2217 server or a plain socket."""

from contextlib import closing

from portbench.boards.board import Deployment
from portbench.boards.timing import Deadline
from portbench.boards.usb.board import UsbBoard
from portbench.boards.usb.port import PortLost
from portbench.boards.usb.run import hard_reset, read_result
from portbench.errors import BoardError, BoardUnavailable, DeadlineExceeded
from portbench.firmware.identify import Uf2File

ASK_BANNER = "import sys; print(sys.version)"
"""`3.4.0; MicroPython v1.26.0 on 2025-08-09`: the language's version, then the build's banner (`py/modsys.c`)."""

_RESTART_S = 5.0
"""Time for a server to notice that the board's port went away; some keep the connection open and never report it."""
_AWAY_S = 30.0
"""Time that a restarting board and its server may refuse connections."""


class RemoteBoard(UsbBoard):
    """A board whose console is `device`, `rfc2217://HOST:PORT` or `socket://HOST:PORT`.

    MicroPython's files go through the console as mpremote's do. Nothing can be flashed through it: `flash` accepts an
    image that the board runs already. Raises BoardUnavailable.
    """

    def flash(self, image: Uf2File, deadline: Deadline) -> None:
        """Raises BoardError unless the banner that the board runs with, build and date included, is in the image."""
        self.release_port()
        answer = self._session(deadline).execute(ASK_BANNER, deadline, f"{self.name} to say what it is")
        banner = answer.partition("; ")[2].strip()
        content = {} if image.content is None else image.content.ranges()
        if not banner or not any(banner.encode() in each for each in content.values()):
            raise BoardError(
                f"{self.name}: it runs {banner or answer.strip()!r}, which {image.path.name} does not hold, and a"
                " console cannot flash it; flash it where the board is plugged in"
            )
        self.link.log(f"flash: nothing can be flashed through a console; it runs {banner} of {image.path.name} already")
        self._image = None

    def deploy(self, deployment: Deployment, deadline: Deadline) -> None:
        if deployment.family == "circuitpython" or deployment.in_image:
            way = "its drive" if deployment.family == "circuitpython" else "its boot loader"
            raise BoardError(
                f"{self.name}: {deployment.family} needs {way}, and only its console is here; run it where it is"
                " plugged in"
            )
        super().deploy(deployment, deadline)

    def reset(self, deadline: Deadline) -> None:
        self.release_port()
        self._restart(deadline)

    def _restart(self, deadline: Deadline) -> None:
        if self.link.power is not None:
            self.link.power.cycle(deadline)
            return
        try:
            hard_reset(self.link, deadline.part(_RESTART_S, f"{self.name}: restart"))
        except DeadlineExceeded:
            deadline.check(f"{self.name} to restart")
            self.link.log("restart: the server kept the connection")

    def _run_client(self, deadline: Deadline) -> None:
        """Read the result through as many connections as it takes: servers close theirs when the board's port goes."""
        self._restart(deadline)
        away: Deadline | None = None
        while self._console.result is None:
            away = away or deadline.part(_AWAY_S, f"{self.name}: restart")
            lines = len(self._console.lines)
            try:
                with closing(self.link.open_repl(away, keep_input=True)) as repl:
                    read_result(repl, self._console, deadline, nudge=True)
            except (PortLost, BoardUnavailable) as error:
                if away.expired or deadline.expired:
                    raise
                self.link.log(f"run: {error}; connecting again")
            if len(self._console.lines) > lines:
                away = None
