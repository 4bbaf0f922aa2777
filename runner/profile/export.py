"""Profiles for other tools: speedscope's format, and folded stacks for flame graphs."""

from collections import Counter
from typing import Any, Final

from portbench.runner.profile.model import RunProfile

_SCHEMA: Final = "https://www.speedscope.app/file-format-schema.json"
_ASLEEP: Final = "(asleep)"


def speedscope(profile: RunProfile) -> dict[str, Any]:
    """One profile for each core that did anything, in microseconds of simulated time."""
    frames: dict[str, int] = {}
    profiles = []
    for core in (0, 1):
        samples = [
            ([frames.setdefault(name, len(frames)) for name in stack.frames], stack.cycles)
            for stack in profile.stacks
            if stack.core == core
        ]
        if not samples:
            continue
        if profile.asleep[core]:
            samples.append(([frames.setdefault(_ASLEEP, len(frames))], profile.asleep[core]))
        weights = [cycles * 1e6 / profile.hz for _, cycles in samples]
        profiles.append(
            {
                "type": "sampled",
                "name": f"core {core}",
                "unit": "microseconds",
                "startValue": 0,
                "endValue": sum(weights),
                "samples": [stack for stack, _ in samples],
                "weights": weights,
            }
        )
    return {
        "$schema": _SCHEMA,
        "shared": {"frames": [{"name": name} for name in frames]},
        "profiles": profiles,
        "name": profile.title,
        "exporter": "portbench",
    }


def folded(profile: RunProfile) -> str:
    """`core 0;main;recv 1234`, a line for each stack, with its cycles."""
    cycles: Counter[str] = Counter()
    for stack in profile.stacks:
        names = (f"core {stack.core}", *stack.frames)
        cycles[";".join(name.replace(";", ":").replace("\n", " ") for name in names)] += stack.cycles
    return "".join(f"{stack} {count}\n" for stack, count in sorted(cycles.items()))
