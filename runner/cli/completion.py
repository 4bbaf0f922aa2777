"""Shell completion of options, from the data that checks them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

import click
from click.shell_completion import CompletionItem

from portbench.boards import known_boards
from portbench.errors import PortbenchError
from portbench.firmware import catalogue
from portbench.runner.options import Option
from portbench.runner.settings import known_settings
from portbench.workloads import workloads

Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]
Values = Callable[[click.Context, str], Iterable[str]]


def completer(option: Option) -> Completer | None:
    """The completer of an option; None: the shell's default."""
    if option.completes is not None:
        return _VALUES[option.completes]
    return _offering(lambda context, incomplete: option.choices) if option.choices else None


def _offering(values: Values, otherwise: str | None = None) -> Completer:
    """Offer the values that begin so; without any, what the shell knows: `otherwise`, a file or a folder."""

    def complete(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
        try:
            found = [CompletionItem(value) for value in values(context, incomplete) if value.startswith(incomplete)]
        except PortbenchError:
            found = []
        return found or ([CompletionItem(incomplete, type=otherwise)] if otherwise else [])

    return complete


def _runtimes(context: click.Context, incomplete: str) -> Iterable[str]:
    return (entry.id for entry in catalogue.load())


def _rows(context: click.Context, incomplete: str) -> Iterable[str]:
    """Runtimes; after a slash, their profiles."""
    runtime = incomplete.rpartition("/")[0]
    profiles = [profile.name for entry in catalogue.load() if entry.id == runtime for profile in entry.profiles]
    return [f"{runtime}/{name}" for name in profiles] or _runtimes(context, incomplete)


def _profiles(context: click.Context, incomplete: str) -> Iterable[str]:
    """Profiles of the runtimes on the line, else of all."""
    named = context.params.get("runtime") or ()
    entries = [entry for entry in catalogue.load() if not named or entry.id in named]
    return dict.fromkeys(profile.name for entry in entries for profile in entry.profiles)


def _devices(context: click.Context, incomplete: str) -> Iterable[str]:
    """Attached devices, without opening any."""
    from portbench.boards.usb.discovery import attached_selectors

    return ["auto", *attached_selectors()]


def _settings(context: click.Context, incomplete: str) -> Iterable[str]:
    """Settings of the workloads on the line, else of the default workloads; after `=`, their values."""
    named = context.params.get("workload") or ()
    known = workloads()
    chosen = [known[name] for name in known if name in named] or [each for each in known.values() if each.by_default]
    settings = known_settings(chosen)
    name, equals, _ = incomplete.partition("=")
    if equals and name in settings:
        return (f"{name}={value}" for value in settings[name].choices)
    return (f"{name}=" for name in settings)


complete_rows: Final = _offering(_rows, "file")
_VALUES: Final[dict[str, Completer]] = {
    "runtime": _offering(_runtimes, "file"),
    "profile": _offering(_profiles),
    "workload": _offering(lambda context, incomplete: workloads()),
    "board": _offering(lambda context, incomplete: known_boards()),
    "device": _offering(_devices),
    "setting": _offering(_settings),
    "folder": _offering(lambda context, incomplete: (), "dir"),
}
