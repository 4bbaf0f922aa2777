"""Results of a client."""

from typing import Any

from portbench.workloads.interpreter.workload import COMMON, MACHINE_CODE, Settings


def said(settings: Settings, *, machine_code: bool = False, ns_per_pass: float = 5000) -> dict[str, Any]:
    """Make the result of a client without a fault, whose loops all take as long."""
    loops = (*COMMON, *MACHINE_CODE) if machine_code else COMMON
    return {
        "clock_step_us": 1,
        "loops": {
            loop.name: {
                "passes": loop.passes(settings.passes),
                "times_us": [round(loop.passes(settings.passes) * ns_per_pass / 1000)] * settings.repeats,
                "answer": loop.answer(loop.passes(settings.passes)),
            }
            for loop in loops
        },
    }
