"""The time of a row by cause, as measured by the engine."""

from portbench.results.attribution.causes import CAUSES, GROUPS, Cause, Group, moment_title
from portbench.results.attribution.model import Attribution, FlashPages, Function, Span, Spans

__all__ = [
    "CAUSES",
    "GROUPS",
    "Attribution",
    "Cause",
    "FlashPages",
    "Function",
    "Group",
    "Span",
    "Spans",
    "moment_title",
]
