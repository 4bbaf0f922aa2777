"""Reasons in rows are one line, and can be published."""

from __future__ import annotations

from pathlib import Path

import pytest

from portbench.runner.collect import one_line


def test_a_reason_is_one_line() -> None:
    assert one_line("a\n  b\r\nc") == "a b c"
    assert one_line(" \n") == "no reason was given"


def test_the_pcs_own_folders_have_names_that_a_shell_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/somebody")
    monkeypatch.setenv("PORTBENCH_FIRMWARE_DIR", "/data/images/")
    assert one_line("not in /data/images/x.uf2 nor /home/somebody/.cache/y") == (
        "not in $PORTBENCH_FIRMWARE_DIR/x.uf2 nor ~/.cache/y"
    )
    assert one_line("/home/somebodyelse/x") == "/home/somebodyelse/x"
    monkeypatch.setenv("HOME", "/")
    monkeypatch.delenv("PORTBENCH_FIRMWARE_DIR")
    assert Path.home() == Path("/") and one_line("/usr/bin") == "/usr/bin"
