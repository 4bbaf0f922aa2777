"""Where the time of a row went, as the engine measured it."""

from portbench.results.attribution.causes import CAUSES, GROUPS, Cause, Group
from portbench.results.attribution.model import Attribution, FlashPages, Span, Spans

__all__ = ["CAUSES", "GROUPS", "Attribution", "Cause", "FlashPages", "Group", "Span", "Spans"]
