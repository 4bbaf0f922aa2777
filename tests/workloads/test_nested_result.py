"""What is wrong deep within a client's result is named by its path."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict

from portbench.workloads import BadResult, read_result


class Part(BaseModel):
    model_config = ConfigDict(strict=True)

    times_us: list[int]


class Said(BaseModel):
    model_config = ConfigDict(strict=True)

    loops: dict[str, Part]


@pytest.mark.parametrize(
    ("loops", "says"),
    [
        (None, "the client's loops is None, not a valid dictionary"),
        ({"add": {}}, "the client's loops.add.times_us is missing"),
        ({"add": {"times_us": [1, "2"]}}, "the client's loops.add.times_us[1] is '2', not a valid integer"),
    ],
)
def test_the_place_reads_as_a_path(loops: Any, says: str) -> None:
    with pytest.raises(BadResult) as caught:
        read_result(Said, {"loops": loops})
    assert str(caught.value) == says
