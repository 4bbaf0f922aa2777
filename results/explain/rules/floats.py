"""Floating point: the units that compute it."""

from portbench.results.explain.facts import Facts, Sentence, TwoRows, rule
from portbench.results.explain.words import count

_LEAST = 0.0005
"""The workload `interpreter` has 0.13 % with CircuitPython 9.2.0, and 0.39 % with MicroPython 1.25.0-preview."""


def _units(facts: Facts) -> tuple[float, float]:
    """Instructions of an average span: arithmetic of the FPU, and those that reach DCP."""
    return facts.each("fpu_instructions"), facts.each("dcp_instructions")


def _told(facts: Facts) -> str | None:
    """Both units' instructions; None if they are few."""
    fpu, dcp = _units(facts)
    instructions = facts.each("instructions")
    if not instructions or fpu + dcp < _LEAST * instructions:
        return None
    named = [(fpu, "the FPU's arithmetic (single precision)"), (dcp, "for DCP (double precision)")]
    told = " and ".join(f"{count(number)} are {what}" for number, what in named if number)
    return (
        f"of {count(instructions)} instructions a {facts.noun}, {told}, {100 * (fpu + dcp) / instructions:.2g} % in all"
    )


@rule("the FPU's arithmetic and DCP have at least 0.05 % of the instructions")
def float_units(facts: Facts) -> Sentence | None:
    """Floats are computed in hardware, so a share of the instructions is all that faster arithmetic could gain."""
    told = _told(facts)
    if told is None:
        return None
    fpu, dcp = _units(facts)
    text = f"{told}: floats are computed in hardware, and the code around them takes the rest"
    return Sentence(text, figures={"fpu_instructions": fpu, "dcp_instructions": dcp})


@rule("the FPU's arithmetic and DCP have at least 0.05 % of one row's instructions, and none of the other's")
def float_units_beside(rows: TwoRows) -> Sentence | None:
    """One row's floats are computed in hardware, the other's by software, or it has none."""
    with_units, without = (rows.other, rows.one) if any(_units(rows.other)) else (rows.one, rows.other)
    told = _told(with_units)
    if told is None or any(_units(without)):
        return None
    software = f"the other row has {count(without.each('instructions'))} instructions and no such unit at work"
    return Sentence(f"{told}; {software}", None, (), {"instructions": without.each("instructions")})
