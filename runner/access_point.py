"""What `--access-point` changes of the access point that an emulated board finds."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from portbench.boards.emulated.access_point import AccessPoint

_ADAPTER: Final = TypeAdapter(AccessPoint)
_USUAL: Final = AccessPoint()
_TEXTS: Final = frozenset({"ssid", "passphrase"})
_SWITCH: Final = {"yes": True, "no": False}


def read_access_point(texts: Iterable[str]) -> AccessPoint:
    """Of `KEY=VALUE`, each key once; a passphrase of nothing is an open network. Raises ValueError."""
    given: dict[str, Any] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or key not in vars(_USUAL):
            raise ValueError(f"{text!r} is not KEY=VALUE with a key of {', '.join(vars(_USUAL))}")
        if key in given:
            raise ValueError(f"{key} is given twice")
        given[key] = _value(key, value)
    try:
        return _ADAPTER.validate_python(given)
    except ValidationError as error:
        detail = error.errors(include_url=False)[0]
        said = detail["msg"][0].lower() + detail["msg"][1:]
        raise ValueError(f"{detail['loc'][0]}={detail['input']}: {said}") from None


def _value(key: str, text: str) -> object:
    if key in _TEXTS:
        return text or None
    if text in _SWITCH:
        return _SWITCH[text]
    # What is no number is the model's to refuse.
    return int(text) if re.fullmatch(r"-?\d{1,12}", text) else text


def unusual(point: AccessPoint) -> dict[str, int | bool | str] | None:
    """What a row has to tell of it: never the passphrase, but whether there is one."""
    told: dict[str, int | bool | str] = {
        name: value for name, value in vars(point).items() if value != getattr(_USUAL, name) and name != "passphrase"
    }
    if point.passphrase is None:
        told["open"] = True
    return told or None
