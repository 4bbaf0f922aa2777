"""What a validation found as JSON: sets take minutes each, and may be measured one by one, or on several machines."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path
from typing import Any

from portbench.errors import PortbenchError
from portbench.results.environment import describe_machine
from portbench.results.silicon import FigureSet
from portbench.runner.checks.silicon.turnaround import Distribution
from portbench.runner.checks.silicon.verdict import Outcome, from_json

Turnarounds = dict[str, Distribution]


def as_json(outcomes: list[Outcome], turnarounds: Turnarounds, started_utc: datetime) -> dict[str, Any]:
    return {
        "started_utc": started_utc.isoformat(),
        "machine": describe_machine().model_dump(mode="json"),
        "turnaround_us": {name: vars(spread) for name, spread in turnarounds.items()},
        "sets": [outcome.as_json() for outcome in outcomes],
    }


def read(files: Iterable[Path], sets: list[FigureSet]) -> tuple[list[Outcome], Turnarounds]:
    """The outcomes of `sets` from reports, in their order; a later file's is taken. Raises OSError."""
    found: dict[str, Outcome] = {}
    turnarounds: Turnarounds = {}
    known = {each.id: each for each in sets}
    for path in files:
        try:
            report = json.loads(path.read_text(encoding="utf-8"))
            for entry in report["sets"]:
                if entry["id"] in known:
                    found[entry["id"]] = from_json(entry, known[entry["id"]])
            turnarounds |= {name: Distribution(**spread) for name, spread in report["turnaround_us"].items()}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise PortbenchError(
                f"{path}: is no report of a validation ({error!r}); make one: portbench check silicon --json > FILE"
            ) from None
    if missing := [name for name in known if name not in found]:
        raise PortbenchError(
            f"no report has {', '.join(missing)}; measure it: portbench check silicon --only {missing[0]} --json"
        )
    return [found[name] for name in known], turnarounds
