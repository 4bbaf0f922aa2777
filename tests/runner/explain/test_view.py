"""An explained row on a terminal and as JSON, without the engine."""

from io import StringIO

from rich.console import Console

from portbench.results.explain import compared
from portbench.results.model import WhatIf
from portbench.runner.explain.report import Explained
from portbench.runner.explain.view import show
from tests.results.explain import synthetic
from tests.walk import Walk, shortened

CHANGE = WhatIf(name="turnaround_0", title="the PC answers at once", value=123.456, times=1.234)


def test_explanations_of_random_rows_are_shown_as_recorded() -> None:
    walk = Walk(9)
    before = synthetic.drawn(walk)
    for _ in range(100):
        row, output = synthetic.drawn(walk), StringIO()
        assert row.attribution is not None
        spans = row.attribution.spans
        spans.interrupts.update(walk.pick(({}, {"UART0_IRQ": [3] * len(spans), "DMA_IRQ_0": [1] * len(spans)})))
        conditions = row.conditions.model_copy(update={"spi_hz_asked": walk.pick((None, 2_000_000))})
        row = row.model_copy(update={"conditions": conditions, "headline": walk.pick((None, row.headline))})
        beside = walk.pick((None, before))
        said = [] if beside is None else compared(row, beside)
        found = Explained(row, walk.pick((True, False)), beside, said, walk.pick(([], [CHANGE])))
        show(found, Console(file=output, width=100))
        walk.note(output.getvalue(), shortened(found.as_json()))
        before = row
    assert walk.checksum == "6527ee69adc9de94"
