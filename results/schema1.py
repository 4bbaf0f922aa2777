"""Conversion of run files of schema 1, which had only the ping-pong, to today's schema."""

from __future__ import annotations

from typing import Any

_WORKLOAD = "ping_pong"
_HEADLINE = {"name": "messages_per_s", "unit": "messages/s", "better": "higher"}


def upgraded(document: dict[str, Any]) -> dict[str, Any]:
    """The document in today's fields. A deviation from schema 1 stays, for the check to find."""
    rows = document.get("rows")
    if not isinstance(rows, list):
        return document | {"schema_version": 2}
    return document | {
        "schema_version": 2,
        "rows": [_row(row) if isinstance(row, dict) else row for row in rows],
    }


def _row(old: dict[str, Any]) -> dict[str, Any]:
    row = dict(old)
    messages, asked = row.pop("messages", 0), row.pop("messages_asked", None)
    total_us, per_s, ready_us = (row.pop(key, None) for key in ("total_us", "messages_per_s", "ready_us"))
    round_trip_us = row.pop("round_trip_us", [])
    published = row.pop("published", None)
    row["conditions"] = row.pop("settings", {})
    if per_s is None and _is_number(messages) and _is_number(total_us):
        per_s = messages * 1e6 / total_us
    figures = {"total_us": total_us, "messages_per_s": per_s, "ready_us": ready_us}
    row |= {
        "workload": _WORKLOAD,
        "build": row.get("image_file") or row.get("runtime"),
        "settings": {"messages": messages or asked} if messages or asked else {},
        "headline": _HEADLINE,
        "figures": {name: value for name, value in figures.items() if value is not None},
        "samples": {"round_trip_us": round_trip_us} if round_trip_us else {},
    }
    row["published"] = _published(published) if isinstance(published, dict) else published
    return row


def _published(old: dict[str, Any]) -> dict[str, Any]:
    totals, messages = old.get("total_s"), old.get("messages")
    if not isinstance(totals, list) or not all(map(_is_number, [*totals, messages])):
        return old
    assert isinstance(messages, int | float)
    return {"values": [messages / total for total in totals], "source": old.get("source")}


def _is_number(value: Any) -> bool:
    """True for a positive number that fits into a rate; an integer may be too large."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e18
