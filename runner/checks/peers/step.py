"""The contract of a step, and all of them: one file each in `steps/`, found by listing; its key is the file's name."""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field

from portbench.runner.checks.peers.program_board import ProgramBoard

_STEPS: Final = Path(__file__).with_name("steps")


class Step(BaseModel, ABC):
    """Each file in `steps/` ends with `STEP`, a subclass with a field of the file's name.

    `within_s`: simulated seconds that it may take, if not as many as the file of programs says.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    within_s: Annotated[float, Field(gt=0)] | None = None

    @abstractmethod
    def do(self, board: ProgramBoard, within_s: float) -> None:
        """Raises NothingCame, an AssertionError, where what has to come does not."""


def names() -> list[str]:
    return sorted(path.stem for path in _STEPS.glob("[a-z]*.py"))


def step(entry: dict[str, Any]) -> Step:
    """Of an entry such as `{ says = "Hello" }`. Raises ValueError, pydantic's included."""
    found = [name for name in names() if name in entry]
    if len(found) != 1:
        raise ValueError(f"{entry} has to have one of {', '.join(names())}")
    kind: type[Step] = importlib.import_module(f"{__package__}.steps.{found[0]}").STEP
    return kind.model_validate(entry)
