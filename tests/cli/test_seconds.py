"""Times too long to wait for."""

from __future__ import annotations

import pytest

from tests.cli.conftest import Invoke


@pytest.mark.parametrize("seconds", ["nan", "inf", "-inf", "0", "-1", "1e9", "soon"])
@pytest.mark.parametrize("words", ["serve --once --timeout", "serve --idle-timeout"])
def test_a_time_that_never_ends_is_refused(words: str, seconds: str, invoke: Invoke) -> None:
    done = invoke(*words.split(), seconds)
    assert done.exit_code == 2 and f"{seconds!r} is no number of seconds, more than 0" in done.stderr
