"""Reads a client's result."""

from collections.abc import Mapping
from typing import Any, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from portbench.errors import PortbenchError


class BadResult(PortbenchError):
    """A client's result without valid figures: one line with the reason."""


class WorkloadResult(BaseModel):
    """The part of a client's result that a workload reads. No value is converted."""

    model_config = ConfigDict(strict=True, defer_build=True)

    @classmethod
    def read(cls, result: Mapping[str, Any]) -> Self:
        """Raises BadResult with the first fault."""
        try:
            return cls.model_validate({key: result[key] for key in cls.model_fields if key in result})
        except ValidationError as error:
            detail = error.errors(include_url=False)[0]
            place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in detail["loc"])[1:]
            if detail["type"] == "missing":
                raise BadResult(f"the client's {place} is missing") from None
            value = repr(detail["input"])
            value = value if len(value) <= 60 else value[:57] + "..."
            wanted = detail["msg"].removeprefix("Input should be ")
            raise BadResult(f"the client's {place} is {value}, not {wanted}") from None
