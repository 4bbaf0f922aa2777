"""Pages from the command line, with the extra that draws them and without."""

from __future__ import annotations

import builtins
from pathlib import Path
from typing import Any

import pytest

from portbench.results import storage
from tests.cli.conftest import Invoke
from tests.results.page_run import FULL


def test_without_the_extra_one_line_says_so(invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "run.json").write_text(storage.to_json(FULL))
    real = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name.partition(".")[0] == "matplotlib":
            raise ModuleNotFoundError(f"No module named {name!r}", name="matplotlib")
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    done = invoke("publish", "run.json")
    assert (done.exit_code, done.stdout) == (0, "docs/results.md\n")
    line = "a page of HTML needs matplotlib; install it: pip install 'portbench[page]'\n"
    assert done.stderr == f"portbench: no page.html: {line}"
    done = invoke("publish", "run.json", "--output", "some.html")
    assert (done.exit_code, done.stdout, done.stderr) == (1, "", f"portbench: {line}")
