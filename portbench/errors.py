"""The errors that a user may cause or meet, under one base, and the lines that they share. A separate class exists
only if some code tells it apart."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from importlib.util import find_spec
from typing import TYPE_CHECKING, ClassVar, Final

from portbench.install import with_extra

if TYPE_CHECKING:
    from pydantic import ValidationError

_FIXES: Final = {
    "unexpected_keyword_argument": "the key is unknown, remove it",
    "extra_forbidden": "the key is unknown, remove it",
    "missing": "add it",
}
_SHOWN_CHARACTERS: Final = 60
_MOST_NAMES: Final = 12
_LISTS: Final = {"runtime or .uf2 file": "list runtimes", "workload": "list workloads", "command": "--help"}
"""The commands that list the names of a kind, when they are too many for a line."""


class PortbenchError(Exception):
    """One line for the user: the file or option, the value, and the fix."""

    row_status: ClassVar[str] = "failed"
    """The `Status` of a row that ends with it."""


class OptionError(PortbenchError):
    """A wrong word on the command line; the command ends with status 2."""


class UnknownName(PortbenchError):
    """A board or a workload that does not exist here. Lists the names there are."""


class LibraryMissing(PortbenchError):
    """An optional library is not installed. Names the extra that brings it."""

    row_status = "skipped"

    @classmethod
    @contextmanager
    def unless_installed(cls, extra: str, purpose: str) -> Iterator[None]:
        """For a block that imports libraries of `extra`, late since they take a second. `purpose` needs them."""
        try:
            yield
        except ImportError as error:
            raise cls(f"{purpose} needs {error.name}; install it: {with_extra(extra)}") from error

    @classmethod
    def unless_found(cls, library: str, extra: str, purpose: str) -> None:
        """Check like `unless_installed`, without the import: before a measurement whose result needs `library`."""
        with cls.unless_installed(extra, purpose):
            if find_spec(library) is None:
                raise ModuleNotFoundError(name=library)


class LibraryUnavailable(PortbenchError):
    """A library for the board is neither at hand nor could be downloaded; the line says how to provide it."""

    row_status = "skipped"


class Unsupported(PortbenchError):
    """The runtime lacks what the workload needs. Says what."""

    row_status = "unsupported"


class BoardError(PortbenchError):
    """A board did not do as it was asked."""


class DeadlineExceeded(BoardError):
    """A wait ended in vain. Says what it waited for and how long."""


class BoardUnavailable(BoardError):
    """No such board here: not built, not plugged in, not on this operating system. Says what would provide it."""


class BoardGone(BoardError):
    """The process of an emulated board has ended; nothing that is waited for will come."""


class BrokenSetup(BoardError):
    """This installation, or this user's folder, can run no emulated board at all; it ends the whole run."""


class ConsoleLost(BoardError):
    """The board's console went away, or its process ended, before the result line."""


def unwritable(place: object, error: OSError) -> str:
    """The line for a file or folder that takes no data."""
    return f"{place}: cannot be written ({error.strerror}); make room or make it writable"


def unknown(kind: str, name: str, known: Iterable[str], shown: Mapping[str, str] | None = None) -> str:
    """The line for a user who gave the unknown `name` of a `kind`: with the names like it, else with all names or the
    command that lists them.

    `shown`: the form of some names in the line.
    """
    known, shown = list(known), shown or {}
    near = [name] if name in known else get_close_matches(name.lower(), known, n=3, cutoff=0.6)
    names = list(dict.fromkeys(shown.get(each, each) for each in near or known))
    if near:
        *others, last = names
        return f"unknown {kind} {name!r}; did you mean {', '.join(others)}{' or ' if others else ''}{last}?"
    if len(names) > _MOST_NAMES and kind in _LISTS:
        return f"unknown {kind} {name!r}; see: portbench {_LISTS[kind]}"
    return f"unknown {kind} {name!r}; choose one of {', '.join(names)}"


def first_complaint(error: ValidationError, kinds: Collection[str] = ()) -> str:
    """The first of pydantic's complaints, as one line: key, value, requirement. A ValueError of our own checks names
    values itself, and gets the key before it.

    `kinds`: the tags that tell tables of several kinds apart. pydantic puts them among the keys; the line leaves them
    out.
    """
    detail = error.errors(include_url=False)[0]
    place = ""
    for part in (part for part in detail["loc"] if part not in kinds):
        name = str(part).encode("unicode_escape").decode()
        place += f"[{part + 1}]" if isinstance(part, int) else f".{name}" if place else name
    more = error.error_count() - 1
    also = f" (and {more} more)" if more else ""
    if detail["type"] == "value_error":
        return f"{place}: {detail['ctx']['error']}{also}".removeprefix(": ")
    if detail["type"].startswith("union_tag"):
        key, wanted = detail["ctx"]["discriminator"].strip("'"), " or ".join(map(repr, kinds))
        tag = detail["ctx"].get("tag")
        return f"{place}.{key} is {'absent' if tag is None else repr(tag)}; input should be {wanted}{also}"
    fix = _FIXES.get(detail["type"], detail["msg"][0].lower() + detail["msg"][1:])
    value = "absent" if detail["type"] == "missing" else repr(detail["input"])
    value = value if len(value) <= _SHOWN_CHARACTERS else f"{value[: _SHOWN_CHARACTERS - 3]}..."
    return f"{place or 'it'} is {value}; {fix}{also}"
