"""Figures of a run's stages as ApacheBench prints them: a table of connection times, and percentages of requests."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from typing import Final

PERCENTS: Final = (50, 66, 75, 80, 90, 95, 98, 99, 100)
"""Of the requests, which were served within a time."""


def connection_times(samples: Mapping[str, Sequence[float]]) -> dict[str, float]:
    """Min, mean, sd (of a sample, as ab has it), median and max of each stage; the percentages are of `total_us`."""
    figures: dict[str, float] = {}
    for name, times_us in samples.items():
        if times_us:
            stage = name.removesuffix("_us")
            figures |= {
                f"{stage}_min_us": min(times_us),
                f"{stage}_mean_us": statistics.fmean(times_us),
                f"{stage}_sd_us": statistics.stdev(times_us) if len(times_us) > 1 else 0.0,
                f"{stage}_median_us": statistics.median(times_us),
                f"{stage}_max_us": max(times_us),
            }
    ordered = sorted(samples.get("total_us", ()))
    for percent in PERCENTS if ordered else ():
        figures[f"total_{percent}_percent_us"] = ordered[min(len(ordered) * percent // 100, len(ordered) - 1)]
    return figures
