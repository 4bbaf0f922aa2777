"""One test per row of the table: `pytest -k runtime`. The plugin in runner/ plans the rows and measures them."""

from __future__ import annotations

import pytest

from portbench.runner.plan import PlannedRun
from portbench.runner.plugin import MeasureRow


@pytest.mark.bench
def test_runtime(planned_run: PlannedRun, bench: MeasureRow) -> None:
    bench(planned_run)
