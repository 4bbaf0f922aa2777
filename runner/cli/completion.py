"""Shell completion of options, from the data that checks them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

import click
from click.shell_completion import CompletionItem

from portbench.boards import known_boards
from portbench.errors import PortbenchError, UnknownName
from portbench.firmware import catalogue
from portbench.runner.options import Option
from portbench.runner.settings import known_settings
from portbench.workloads import workloads

Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def completer(option: Option) -> Completer | None:
    """The completer of an option; None: the shell's default."""
    if option.completes is not None:
        return _VALUES[option.completes]
    return _choices(option.choices) if option.choices else None


def _choices(values: Iterable[str]) -> Completer:
    return lambda context, option, incomplete: _items(values, incomplete)


def _items(values: Iterable[str], incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(value) for value in values if value.startswith(incomplete)]


def _runtimes(context: click.Context, option: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Runtime ids; without a match, file names."""
    try:
        found = _items((entry.id for entry in catalogue.load()), incomplete)
    except PortbenchError:
        found = []
    return found or [CompletionItem(incomplete, type="file")]


def complete_rows(context: click.Context, option: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Runtimes; after a slash, their profiles."""
    runtime, slash, _ = incomplete.rpartition("/")
    try:
        profiles = [profile.name for entry in catalogue.load() if entry.id == runtime for profile in entry.profiles]
    except PortbenchError:
        profiles = []
    if slash and profiles:
        return _items((f"{runtime}/{name}" for name in profiles), incomplete)
    return _runtimes(context, option, incomplete)


def _profiles(context: click.Context, option: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Profiles of the runtimes on the line, else of all."""
    named = context.params.get("runtime") or ()
    try:
        entries = [entry for entry in catalogue.load() if not named or entry.id in named]
    except PortbenchError:
        return []
    return _items(dict.fromkeys(profile.name for entry in entries for profile in entry.profiles), incomplete)


def _workloads(context: click.Context, option: click.Parameter, incomplete: str) -> list[CompletionItem]:
    try:
        return _items(workloads(), incomplete)
    except UnknownName:
        return []


def _boards(context: click.Context, option: click.Parameter, incomplete: str) -> list[CompletionItem]:
    try:
        return _items(known_boards(), incomplete)
    except PortbenchError:
        return []


def _devices(context: click.Context, option: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Attached devices, without opening any."""
    from portbench.boards.usb import attached_selectors

    return _items(["auto", *attached_selectors()], incomplete)


def _settings(context: click.Context, option: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Settings of the workloads on the line, else of the default workloads; after `=`, their values."""
    named = context.params.get("workload") or ()
    try:
        known = workloads()
        chosen = [known[name] for name in known if name in named] or [
            each for each in known.values() if each.by_default
        ]
        settings = known_settings(chosen)
    except PortbenchError:
        return []
    name, equals, _ = incomplete.partition("=")
    if equals and name in settings:
        return _items((f"{name}={value}" for value in settings[name].choices), incomplete)
    return _items((f"{name}=" for name in settings), incomplete)


def _folders(context: click.Context, option: click.Parameter, incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(incomplete, type="dir")]


_VALUES: Final[dict[str, Completer]] = {
    "runtime": _runtimes,
    "profile": _profiles,
    "workload": _workloads,
    "board": _boards,
    "device": _devices,
    "setting": _settings,
    "folder": _folders,
}
