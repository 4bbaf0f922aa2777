"""Two profiles beside each other: which code moved between SRAM and flash."""

from __future__ import annotations

from dataclasses import dataclass

from portbench.runner.profile.model import Profile

_LEAST_SHARE = 0.02
"""Of all cycles, in either profile, below which nothing is said of a function."""


@dataclass(frozen=True)
class Comparison:
    """What there is to say, one sentence each."""

    sentences: tuple[str, ...]


def compare(one: Profile, two: Profile) -> Comparison:
    """By functions that both have by name, and by the memories that they ran from."""
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
    return Comparison(tuple(sentences))


def _named(profile: Profile) -> dict[str, tuple[str, float]]:
    """Region and share of each function that has a name; a name in two regions is none to go by."""
    found: dict[str, tuple[str, float]] = {}
    twice = set()
    for each in profile.functions:
        if each.name.startswith("0x"):
            continue
        if each.name in found:
            twice.add(each.name)
        found[each.name] = (each.region, each.cycles / max(1, profile.cycles))
    return {name: place for name, place in found.items() if name not in twice}
