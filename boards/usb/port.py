"""Opening a board's serial port: alone, or not at all."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path

import serial

from portbench.boards.timing import Deadline
from portbench.boards.usb.remote_port import remote_port
from portbench.errors import BoardUnavailable, DeadlineExceeded

_BAUD = 115200
SETTLE_S = 5.0
"""How long udev may take to set a new node's permissions, and ModemManager to lose interest in it."""
_RETRY_S = 0.1


def open_port(
    url: str,
    name: str,
    deadline: Deadline,
    *,
    provider_pid: int | None = None,
    keep_input: bool = False,
    settle_s: float = SETTLE_S,
) -> serial.Serial:
    """The port `url` (a path, a name, rfc2217:// or socket://), for this process alone.

    `keep_input`: leave what the board has printed already; pyserial throws it away (POSIX only). `provider_pid` may
    hold the port: the process behind a pseudo-terminal. `settle_s`: how long to wait for a new node's permissions and
    for programs that only look at new ports. Raises BoardUnavailable for a port that others use, that this user may not
    use, or that is not there.
    """
    fault = BoardUnavailable(f"{name}: {url} is not there; plug the board in")

    def attempt() -> serial.Serial | None:
        nonlocal fault
        try:
            _refuse_held(url, name, provider_pid)
            return _open(url, keep_input)
        except BoardUnavailable as error:
            fault = error
        except (OSError, ValueError) as error:  # pyserial's SerialException is an OSError
            fault = _explain(url, name, error)
        return None

    try:
        return deadline.part(settle_s, deadline.what).poll(attempt, _RETRY_S, url)
    except DeadlineExceeded:
        raise fault from None


def _open(url: str, keep_input: bool) -> serial.Serial:
    if "://" in url:
        port = remote_port(url, _BAUD)
    else:
        port = serial.serial_for_url(url, baudrate=_BAUD, timeout=0, exclusive=True, do_not_open=True)
    if keep_input and hasattr(port, "_reset_input_buffer"):
        port._reset_input_buffer = lambda: None
    port.open()
    return port


def _explain(url: str, name: str, error: Exception) -> BoardUnavailable:
    code = getattr(error, "errno", None)
    if code in (errno.EACCES, errno.EPERM) or isinstance(error, PermissionError):
        return BoardUnavailable(f"{name}: no permission to open {url}; {permission_fix(url)}")
    if code in (errno.EAGAIN, errno.EBUSY) or "exclusively lock" in str(error):
        return BoardUnavailable(f"{name}: {url} is in use by another program; close it")
    if code in (errno.ENOENT, errno.ENODEV, errno.ENXIO):
        return BoardUnavailable(f"{name}: {url} is not there; plug the board in")
    return BoardUnavailable(f"{name}: {url} cannot be opened: {error}")


def permission_fix(path: str) -> str:
    """What a user does to be allowed to open the port."""
    if sys.platform != "linux":
        return "close other programs that use it"
    group = _group(path)
    join = f"join its group (sudo usermod -aG {group} $USER, then log in again)" if group else ""
    rule = "copy docs/60-portbench.rules to /etc/udev/rules.d and plug the board in again"
    return f"{join} or {rule}" if join else rule


def _group(path: str) -> str | None:
    if os.name != "posix":
        return None
    import grp

    try:
        return grp.getgrgid(Path(path).stat().st_gid).gr_name
    except (OSError, KeyError):
        return None


def holders(path: str) -> list[tuple[int, str]]:
    """Processes, with their names, that have `path` open (Linux; those that this user may look at)."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if any(str(fd.readlink()) == path for fd in (process / "fd").iterdir()):
                found.append((int(process.name), (process / "comm").read_text().strip()))
        except OSError:
            continue
    return found


def _refuse_held(url: str, name: str, provider_pid: int | None) -> None:
    """Not every program locks the ports it uses, so that a lock alone does not keep us from disturbing one."""
    if not url.startswith("/dev/"):
        return
    for pid, program in holders(url):
        if pid not in (os.getpid(), provider_pid):
            raise BoardUnavailable(f"{name}: {url} is in use by {program} (process {pid}); close it")
