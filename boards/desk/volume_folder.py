"""USB drives of the board shown as folders, as a desktop mounts them: a folder for each logical unit.

Files that programs put into a folder go to the drive through the PC's FAT driver and USB, block by block; the board
sees exactly what it would see of a real PC. When the drive goes away, so does the folder.
"""

import contextlib
import errno
import re
import shutil
from collections.abc import Callable, Collection
from dataclasses import dataclass
from itertools import chain, count
from pathlib import Path, PurePosixPath
from stat import S_ISDIR
from typing import Final, Protocol

from portbench.console import shown

MOST_BYTES: Final = 256 << 20
"""Limit of all files of a volume. Several files may claim the same clusters, so they can be larger than it."""
_NO_NAME: Final = re.compile("[\0\ud800-\udfff]")
"""Characters that file names do not have: NUL, and those without bytes."""
_NO_ROOM = Path("/dev/full")
_NO_WRITING = Path("/sys/portbench-refuses-this")
"""The system refuses all writing there, with ENOSPC, and with EACCES or EROFS."""


class Torn(Exception):
    """A fault tore the copy: the drive has part of a file, and the board is to lose its power."""


class MassStorage(Protocol):
    """`portbench_engine.Machine`, as a folder needs it. `lun`: the logical unit."""

    def volume_list(self, lun: int = 0) -> list[tuple[str, bool, int]]: ...
    def volume_label(self, lun: int = 0) -> str: ...
    def volume_read(self, paths: list[str], lun: int = 0) -> list[bytes]: ...
    def volume_apply(self, changes: list[tuple[str, str, bytes]], lun: int = 0) -> None: ...


@dataclass(frozen=True)
class _Stamp:
    is_dir: bool
    size: int
    mtime_ns: int


def _stamp(path: Path) -> _Stamp:
    stat = path.stat()
    is_dir = S_ISDIR(stat.st_mode)
    return _Stamp(is_dir, 0 if is_dir else stat.st_size, 0 if is_dir else stat.st_mtime_ns)


def _folder_name(label: str) -> str:
    """The name of the folder of a volume, whose label is the guest's: one part of a path, and neither `.` nor `..`."""
    name = shown(label).replace("/", "_")
    return name.replace(".", "_") if not name.strip(".") else name


def _inside(path: str) -> str:
    """`path`, which the guest chose. Raises OSError if it leads out of the volume, as Linux's FAT driver does."""
    parts = PurePosixPath(path)
    if parts.is_absolute() or ".." in parts.parts or not parts.parts or _NO_NAME.search(path):
        raise OSError(errno.EIO, f"the volume's file {shown(repr(path))} has a name that no file can have")
    return path


class VolumeFolder:
    """Mirrors one drive in `parent/LABEL`. `log` gets one line per event that a user may want to know.

    `taken`: names that the folder may not have; it is `LABEL1` then, as a desktop's mount.
    """

    def __init__(
        self,
        drive: MassStorage,
        parent: Path,
        log: Callable[[str], None],
        taken: Collection[str] = frozenset(),
        lun: int = 0,
    ) -> None:
        self._drive = drive
        self._lun = lun
        self._log = log
        self.label = drive.volume_label(lun).strip() or "NO NAME"
        name = _folder_name(self.label)
        names = chain([name], (f"{name}{number}" for number in count(1)))
        self.path = parent / next(name for name in names if name not in taken)
        self._mirrored: dict[str, _Stamp] = {}
        self._seen: dict[str, _Stamp] = {}
        self._refused: dict[Path, bytes | None] = {}
        self.tear_per_mille: int | None = None
        """Part of the next file that reaches the drive before `Torn` is raised; None: all of it."""
        self._mount()

    def refuse(self, names: tuple[str, ...], *, full: bool) -> None:
        """Refuse writing to these files, for lack of room or of permission, until `accept`."""
        for name in names:
            path = self.path / name
            if path in self._refused:
                continue
            with contextlib.suppress(OSError):
                before = path.read_bytes() if path.is_file() else None
                path.unlink(missing_ok=True)
                path.symlink_to(_NO_ROOM if full else _NO_WRITING)
                self._refused[path] = before

    def accept(self) -> None:
        """End `refuse`, with the files as they were."""
        for path, before in self._refused.items():
            with contextlib.suppress(OSError):
                path.unlink(missing_ok=True)
                if before is not None:
                    path.write_bytes(before)
                    self._mirrored[self._name(path)] = self._seen[self._name(path)] = _stamp(path)
        self._refused.clear()

    def _name(self, path: Path) -> str:
        return path.relative_to(self.path).as_posix()

    def _mount(self) -> None:
        """Fill the folder under another name first, so that it is whole when it appears."""
        building = self.path.with_name(f".{self.path.name}.mounting")
        shutil.rmtree(building, ignore_errors=True)
        building.mkdir(parents=True)
        try:
            self._fill(building)
            shutil.rmtree(self.path, ignore_errors=True)
            building.rename(self.path)
        finally:
            shutil.rmtree(building, ignore_errors=True)
        self._mirrored = self._seen = self._scan()

    def _fill(self, building: Path) -> None:
        entries = [(_inside(path), is_dir, size) for path, is_dir, size in self._drive.volume_list(self._lun)]
        files = [path for path, is_dir, _ in entries if not is_dir]
        if (claimed := sum(size for _, _, size in entries)) > MOST_BYTES:
            raise OSError(errno.EFBIG, f"the volume's files claim {claimed} bytes; a folder shows at most {MOST_BYTES}")
        for path, is_dir, _ in entries:
            if is_dir:
                (building / path).mkdir(parents=True, exist_ok=True)
        for path, data in zip(files, self._drive.volume_read(files, self._lun), strict=True):
            (building / path).parent.mkdir(parents=True, exist_ok=True)
            (building / path).write_bytes(data)

    def _scan(self) -> dict[str, _Stamp]:
        found: dict[str, _Stamp] = {}
        for path in sorted(self.path.rglob("*")):
            if path.is_symlink():
                continue  # FAT has none
            with contextlib.suppress(FileNotFoundError):
                found[self._name(path)] = _stamp(path)
        return found

    def sync(self) -> bool:
        """Bring changes that have settled (two looks alike) to the drive; true if there were any.

        Raises OSError where the drive goes away during that, as it does once a UF2 is complete.
        """
        now = self._scan()
        if now != self._seen:
            self._seen = now
            return False
        return self._bring(now)

    def flush(self) -> bool:
        """Bring all changes to the drive at once; true if there were any. Raises OSError as `sync` does."""
        self._seen = self._scan()
        return self._bring(self._seen)

    def _bring(self, now: dict[str, _Stamp]) -> bool:
        changes = self._changes(now)
        if not changes:
            return False
        self._mirrored = now
        self._tear(changes)
        self._log(f"{self.label}: " + ", ".join(f"{action} {path}" for action, path, _ in changes))
        self._drive.volume_apply(changes, self._lun)
        return True

    def _tear(self, changes: list[tuple[str, str, bytes]]) -> None:
        for index, (action, path, data) in enumerate(changes):
            if self.tear_per_mille is not None and action == "write" and data:
                part = data[: len(data) * self.tear_per_mille // 1000]
                self._log(f"{self.label}: torn: {len(part)} of {len(data)} bytes of {path}")
                with contextlib.suppress(OSError):
                    self._drive.volume_apply([*changes[:index], (action, path, part)], self._lun)
                raise Torn

    def _changes(self, now: dict[str, _Stamp]) -> list[tuple[str, str, bytes]]:
        old = self._mirrored
        refused = set(map(self._name, self._refused))
        gone = [
            path for path in old if path not in refused and (path not in now or now[path].is_dir != old[path].is_dir)
        ]
        changes = [("remove", path, b"") for path in sorted(gone, reverse=True)]
        for path, stamp in now.items():
            if old.get(path) == stamp:
                continue
            if stamp.is_dir:
                changes.append(("mkdir", path, b""))
            else:
                changes.append(("write", path, (self.path / path).read_bytes()))
        return changes

    def remove(self) -> None:
        """Remove the folder, as its drive is gone."""
        shutil.rmtree(self.path, ignore_errors=True)


class VolumeFolders:
    """Folders of a drive's logical units, such as the card in a reader. They come and go with their media.

    `parent`: the folder of the board's folders.
    """

    def __init__(self, parent: Path, log: Callable[[str], None]) -> None:
        self._parent = parent
        self._log = log
        self._folders: dict[int, VolumeFolder] = {}

    @property
    def folders(self) -> tuple[VolumeFolder, ...]:
        return tuple(folder for _, folder in sorted(self._folders.items()))

    @property
    def first(self) -> VolumeFolder | None:
        """The folder of unit 0."""
        return self._folders.get(0)

    def mount(self, drive: MassStorage, ready: list[bool]) -> None:
        """Mount the units that are `ready`, by number, and remove the others."""
        for lun, is_ready in enumerate(ready):
            if not is_ready or lun in self._folders:
                continue
            taken = {folder.path.name for folder in self._folders.values()}
            try:
                self._folders[lun] = VolumeFolder(drive, self._parent, self._log, taken, lun)
            except OSError as error:
                self._log(f"logical unit {lun} of the board's drive cannot be mounted: {error}")
        self.unmount_gone(ready)

    def unmount_gone(self, ready: list[bool]) -> None:
        for lun in [lun for lun in self._folders if lun >= len(ready) or not ready[lun]]:
            self._folders.pop(lun).remove()
