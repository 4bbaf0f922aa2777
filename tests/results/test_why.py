"""The lines below a table that say why its rows take as long as they do."""

from __future__ import annotations

from portbench.results.answer import why
from portbench.results.stats import group_rows
from tests.results.explain import synthetic


def test_a_row_without_a_profile_is_named_by_its_firmware_alone() -> None:
    row = synthetic.row({"spi_bits": 150, "pc": 50})
    groups = group_rows(
        [row.model_copy(update={"profile": profile}) for profile in (None, "tuned")], row.workload, row.where
    )
    named = [line.split(":")[0] for line in why(groups)]
    assert sorted(named) == [f"Why, {row.runtime}", f"Why, {row.runtime} tuned"]
