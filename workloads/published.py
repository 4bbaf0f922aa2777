"""Reads the figures on silicon that others published, from `published.toml` in a workload's folder."""

import re
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Final

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from portbench.errors import PortbenchError, first_complaint
from portbench.toml_files import parse_toml, read_text

PUBLISHED_FILE: Final = "published.toml"

_Text = Annotated[str, Field(min_length=1)]
_Figure = Annotated[int | float, Field(gt=0, le=10**24, allow_inf_nan=False)]


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, defer_build=True)


class PublishedFirmware(_Part):
    """Published figures of one firmware with one profile."""

    runtime: _Text
    family: _Text
    version: _Text
    profile: _Text
    figures: Annotated[dict[str, Annotated[list[_Figure], Field(min_length=1)]], Field(min_length=1)]
    stated: dict[str, _Figure] = {}
    cause: _Text | None = None

    @property
    def release(self) -> tuple[int, ...]:
        """The numbers of the version, to compare versions."""
        return tuple(map(int, re.findall(r"\d+", self.version)))


class PublishedSource(_Part):
    """Published figures on silicon, with settings and firmware: an entry of `published.toml` in a workload's folder.

    [[source]]
    who = "..."                     # with the date
    url = "https://..."
    board = "W5500_EVB_PICO"        # its name in boards/definitions
    settings = { messages = 1000 }  # settings that differ from the defaults

    [[source.firmware]]
    runtime = "micropython-1.20.0"  # its name in the catalogue, even without an available image
    family = "micropython"
    version = "1.20.0"
    profile = "as-published"
    figures = { total_us = [258_900_000, 259_000_000] }  # one entry per run, named as in the workload
    stated = { messages_per_s = 3.9 }                    # rounded as in the source
    cause = "data waits for a timer"                     # of the figure, in a few words, where it is known
    """

    who: _Text
    url: Annotated[str, Field(pattern=r"^https?://\S+$")]
    board: _Text
    settings: dict[str, Any] = {}
    firmware: Annotated[list[PublishedFirmware], Field(min_length=1)]


class _File(_Part):
    source: list[PublishedSource] = []


@cache
def read_published(folder: Path) -> tuple[PublishedSource, ...]:
    """The published figures of the workload in `folder`; none without the file. Raises PortbenchError."""
    path = folder / PUBLISHED_FILE
    if not path.exists():
        return ()
    try:
        return tuple(_File.model_validate(parse_toml(read_text(path), path)).source)
    except ValidationError as error:
        raise PortbenchError(f"{path}: {first_complaint(error)}") from error
