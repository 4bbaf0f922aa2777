"""Libraries of the user (`--library NAME=PATH`), in the place of the pinned ones or beside them."""

import hashlib
import re
import zipfile
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

from portbench.errors import OptionError, Unsupported

_MODULES: Final = (".py", ".mpy")
_NAME: Final = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*")
_VERSION: Final = re.compile(rb"^__version__\s*=\s*[\"']([\w.+-]+)[\"']", re.MULTILINE)
_UNRELEASED: Final = "0.0.0+auto.0"
"""The version in a checkout of an Adafruit library."""


@dataclass(frozen=True)
class OwnLibrary:
    """The files of a library by path below the board's folder of libraries; `version` "" if it names none."""

    name: str
    version: str
    files: Mapping[str, bytes] = field(repr=False)

    @property
    def sha256(self) -> str:
        """Hash of the paths and contents."""
        whole = hashlib.sha256()
        for path, content in sorted(self.files.items()):
            whole.update(f"{path} {len(content)}\n".encode() + content)
        return whole.hexdigest()

    @property
    def identity(self) -> str:
        """`7.4.5 (1a2b3c4d5e6f)`: version and begin of the hash."""
        return f"{self.version} ({self.sha256[:12]})".lstrip()


def read_library(text: str) -> OwnLibrary:
    """Return the library that `NAME=PATH` names. Raises OptionError."""
    name, _, given = text.partition("=")
    if not given or not _NAME.fullmatch(name):
        raise OptionError(
            f"--library: {text!r} is not NAME=PATH; write the name that programs import, as adafruit_wiznet5k=FOLDER"
        )
    path, module = Path(given), name.replace(".", "/")
    if not (path.is_dir() or (path.is_file() and path.suffix in (*_MODULES, ".whl"))):
        raise OptionError(f"--library: {given}: is no library; name a folder, a .py, an .mpy or a .whl file")
    try:
        if path.suffix in _MODULES:
            files = {module + path.suffix: path.read_bytes()}
        else:
            there = _readers(path)
            files = {place: there[name]() for place, name in _places(there, module).items()}
    except (OSError, zipfile.BadZipFile) as error:
        raise OptionError(f"--library: {given}: cannot be read ({error}); name another file") from None
    if not files:
        raise OptionError(f"--library: {given}: has no {module}.py, {module}.mpy or {module}/; name its folder")
    release = path.name.split("-")[1:2] if path.suffix == ".whl" else []
    named = [found[1].decode() for each in files.values() if (found := _VERSION.search(each))]
    return OwnLibrary(name, next((each for each in (*release, *named) if each != _UNRELEASED), ""), files)


def _readers(path: Path) -> dict[str, Callable[[], bytes]]:
    """The modules in a folder or a wheel, by path there."""
    if path.suffix == ".whl":
        archive = zipfile.ZipFile(path)
        return {name: partial(archive.read, name) for name in archive.namelist() if name.endswith(_MODULES)}
    inside = sorted(each for each in path.rglob("*") if each.suffix in _MODULES)
    return {each.relative_to(path).as_posix(): each.read_bytes for each in inside}


def _places(names: Collection[str], module: str) -> dict[str, str]:
    """The library's files by path on the board: all of the package's folder, or a part of one around it."""
    if {"__init__.py", "__init__.mpy"} & set(names):
        return {f"{module}/{name}": name for name in names}
    begins = (f"{module}/", *(module + suffix for suffix in _MODULES))
    at_top = {name: name for name in names if name.startswith(begins)}
    return at_top or {name[4:]: name for name in names if name.startswith("src/") and name[4:].startswith(begins)}


def with_own(files: Mapping[str, bytes], libraries: Sequence[OwnLibrary], folder: str) -> dict[str, bytes]:
    """`files` with the user's libraries in `folder`, each at the place of the one that it replaces.

    Raises Unsupported for a library that replaces none, and that nothing on the board names.
    """
    known = dict(files)
    unused = []
    for library in libraries:
        own = {folder + path: content for path, content in library.files.items()}
        at = folder + library.name.replace(".", "/")
        changed: dict[str, bytes] = {}
        replaced = {path for path in known if path.startswith(f"{at}/") or path in [at + end for end in _MODULES]}
        for path, content in known.items():
            changed |= own if path in replaced else {path: content}
        known = changed | own
        if not replaced:
            unused.append((library.name, own))
    for name, own in unused:
        word = re.compile(rb"\b" + re.escape(name.encode()) + rb"\b")
        if not any(word.search(content) for path, content in known.items() if path not in own):
            raise Unsupported(f"nothing here imports {name}; choose a workload that does, or leave out --library")
    return known


def libraries_of_sides(given: Sequence[str], *, alike: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The libraries of A and of B, as `NAME=PATH`: of a NAME that is given twice the first is A's, the second B's.

    Any other is of both; but where A and B are `alike` and no NAME is given twice, it is B's. Raises OptionError.
    """
    names = Counter(text.partition("=")[0] for text in given)
    if name := next((each for each, count in names.items() if count > 2), None):
        raise OptionError(f"--library: {name} is given {names[name]} times; give A's and B's")
    last = {text.partition("=")[0]: text for text in given}
    first = {text.partition("=")[0]: text for text in reversed(given)}
    only_second = alike and len(names) == len(given)
    return () if only_second else tuple(first[name] for name in last), tuple(last.values())
