"""What pydantic found wrong with something that a person wrote, as one line."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from pydantic import ValidationError

_FIXES: Final = {
    "unexpected_keyword_argument": "the key is unknown, remove it",
    "extra_forbidden": "the key is unknown, remove it",
    "missing": "add it",
}
_SHOWN_CHARACTERS: Final = 60


def first_complaint(error: ValidationError, kinds: Collection[str] = ()) -> str:
    """The first of pydantic's complaints as: key, value, requirement. A ValueError of our own checks names values
    itself: only the key goes before it. `kinds`: what tells
    tables of several kinds apart, which pydantic puts among the keys.
    """
    detail = error.errors(include_url=False)[0]
    place = ""
    for part in (part for part in detail["loc"] if part not in kinds):
        name = str(part).encode("unicode_escape").decode()
        place += f"[{part + 1}]" if isinstance(part, int) else f".{name}" if place else name
    more = error.error_count() - 1
    also = f" (and {more} more)" if more else ""
    if detail["type"] == "value_error":
        return f"{place}: {detail['ctx']['error']}{also}".removeprefix(": ")
    if detail["type"].startswith("union_tag"):
        key, wanted = detail["ctx"]["discriminator"].strip("'"), " or ".join(map(repr, kinds))
        tag = detail["ctx"].get("tag")
        return f"{place}.{key} is {'absent' if tag is None else repr(tag)}; input should be {wanted}{also}"
    fix = _FIXES.get(detail["type"], detail["msg"][0].lower() + detail["msg"][1:])
    value = "absent" if detail["type"] == "missing" else repr(detail["input"])
    value = value if len(value) <= _SHOWN_CHARACTERS else f"{value[: _SHOWN_CHARACTERS - 3]}..."
    return f"{place or 'it'} is {value}; {fix}{also}"
