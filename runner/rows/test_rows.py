"""One test per row of the table: `pytest -k runtime`. The plugin plans the rows and measures them."""

from __future__ import annotations

import pytest

from portbench.runner.plan import PlannedRow
from portbench.runner.plugin import MeasureRow


@pytest.mark.bench
def test_runtime(planned_row: PlannedRow, bench: MeasureRow) -> None:
    bench(planned_row)
