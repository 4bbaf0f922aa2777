"""Tables of a profile, or of two."""

from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from portbench.console import new_table, print_line
from portbench.runner.profile.model import RunProfile
from portbench.runner.profile.symbols import REGIONS

_LONGEST = 34
_LEAST_SHARE = 0.02
"""Share of all cycles: functions below it in both profiles are not compared."""


def show(profile: RunProfile, most: int, console: Console) -> None:
    """Show the `most` expensive functions, their memories, and their flash cache misses."""
    start_us, end_us = profile.window_us
    how = "each instruction" if profile.exact else "samples"
    console.print(f"{profile.title}: {(end_us - start_us) / 1e6:.6f} s of simulated time, by {how}", soft_wrap=True)
    console.print(_functions(profile, most))
    console.print(_regions([profile]))
    if profile.missed:
        console.print(_missed(profile, most))
        console.print(_evictions(profile, most))


def show_comparison(one: RunProfile, two: RunProfile, most: int, console: Console) -> None:
    """Show both profiles, and the code that moved between SRAM and flash."""
    show(one, most, console)
    show(two, most, console)
    console.print(_regions([one, two]))
    for sentence in compare(one, two):
        print_line(console, sentence)


def compare(one: RunProfile, two: RunProfile) -> list[str]:
    """Sentences about functions of both profiles that run from different memories."""
    first, second = _named(one), _named(two)
    sentences = []
    for name in sorted(set(first) & set(second), key=lambda name: -max(first[name][1], second[name][1])):
        (was, share), (now, share_now) = first[name], second[name]
        if was != now and max(share, share_now) >= _LEAST_SHARE:
            sentences.append(
                f"{name} runs from {was} in {one.title} ({100 * share:.0f} % of its cycles)"
                f" and from {now} in {two.title} ({100 * share_now:.0f} %)."
            )
    flash = [profile.by_region().get("flash", 0) / max(1, profile.cycles) for profile in (one, two)]
    sentences.append(f"Code in flash takes {100 * flash[0]:.0f} % of the cycles there and {100 * flash[1]:.0f} % here.")
    return sentences


def _named(profile: RunProfile) -> dict[str, tuple[str, float]]:
    """Region and share of each named function, without names that occur twice."""
    found: dict[str, tuple[str, float]] = {}
    twice = set()
    for each in profile.functions:
        if each.name.startswith("0x"):
            continue
        if each.name in found:
            twice.add(each.name)
        found[each.name] = (each.region, each.cycles / max(1, profile.cycles))
    return {name: place for name, place in found.items() if name not in twice}


def _short(name: str) -> str:
    return name if len(name) <= _LONGEST else name[: _LONGEST - 3] + "..."


def _functions(profile: RunProfile, most: int) -> Table:
    total = max(1, profile.cycles)
    if not profile.exact:
        table = new_table(("function", "runs from", "of all"), right=("of all",))
        for each in profile.functions[:most]:
            table.add_row(_short(each.name), each.region, f"{100 * each.cycles / total:.1f} %")
        return table
    table = new_table(
        ("function", "from", "calls", "cycles", "of all", "misses", "stalled"),
        right=("calls", "cycles", "of all", "misses", "stalled"),
    )
    for each in profile.functions[:most]:
        table.add_row(
            _short(each.name),
            each.region,
            str(each.calls),
            str(each.cycles),
            f"{100 * each.cycles / total:.1f} %",
            str(each.misses),
            f"{100 * each.stalls / max(1, each.cycles):.0f} %",
        )
    return table


def _regions(profiles: Sequence[RunProfile]) -> Table:
    names = [profile.title.split()[0] for profile in profiles]
    table = new_table(("code runs from", *names), right=names)
    if len(profiles) == 1:
        table.columns[1].header = "of all"
    found = [profile.by_region() for profile in profiles]
    for name in REGIONS:
        if any(name in each for each in found):
            shares = [
                f"{100 * each.get(name, 0) / max(1, profile.cycles):.1f} %"
                for each, profile in zip(found, profiles, strict=True)
            ]
            table.add_row(name, *shares)
    return table


def _missed(profile: RunProfile, most: int) -> Table:
    total = sum(count for _, count in profile.missed)
    table = new_table(
        ("what the flash cache missed", "misses", "of all"),
        right=("misses", "of all"),
    )
    for name, count in profile.missed[:most]:
        table.add_row(_short(name), str(count), f"{100 * count / total:.1f} %")
    return table


def _evictions(profile: RunProfile, most: int) -> Table:
    table = new_table(("missed", "took the place of", "times"), right=("times",))
    for missed, gone, count in profile.evictions[:most]:
        table.add_row(_short(missed), _short(gone), str(count))
    return table
