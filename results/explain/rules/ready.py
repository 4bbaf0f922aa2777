"""The parts of the time until ready."""

from __future__ import annotations

from portbench.results.attribution import CAUSES
from portbench.results.explain.facts import Facts
from portbench.results.explain.sentence import Sentence
from portbench.results.explain.words import duration, percent

LEAST = 0.5
FIRES = "the way to ready has stages, and one cause other than execution takes at least half of the longest of them"


def say(facts: Facts) -> Sentence | None:
    stages = list(facts.attribution.stages)
    if len(stages) < 2:
        return None
    whole_ps = sum(stage.duration_ps for stage in stages)
    longest = max(stages, key=lambda stage: stage.duration_ps)
    name, ps = max(longest.causes_ps.items(), key=lambda each: each[1])
    if name in ("code_run", "unnamed") or ps < LEAST * longest.duration_ps:
        return None
    text = (
        f"ready {duration(whole_ps)} after power-up, {duration(longest.duration_ps)} of it in stage {longest.name!r};"
        f" {percent(longest.share(name))} of that: {CAUSES[name].title}"
    )
    return Sentence("ready", text, None, (name,), {"ready_us": whole_ps / 1e6})
