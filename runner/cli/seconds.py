"""A time that somebody waits."""

from __future__ import annotations

from typing import Any, Final

import click

_MOST_S: Final = 86_400


class Seconds(click.ParamType):  # type: ignore[type-arg]  # generic from 8.5 on
    """More than 0 and at most a day: nobody waits for `nan`, or for `inf`."""

    name = "seconds"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> float:
        try:
            seconds = float(value)
        except ValueError:
            seconds = 0.0
        if not 0 < seconds <= _MOST_S:
            self.fail(f"{value!r} is no number of seconds, more than 0 and up to {_MOST_S}", param, ctx)
        return seconds
