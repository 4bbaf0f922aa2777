"""`portbench check peers`, without any source or image."""

from __future__ import annotations

from pathlib import Path

import pytest

from portbench.runner.checks.peers.record import read
from tests.cli.conftest import Invoke

pytestmark = pytest.mark.engine


def test_the_suites_are_found_by_listing(invoke: Invoke) -> None:
    from portbench.runner.checks.peers.suite import names, suite

    assert {"micropython_tests", "micropython_native", "micropython_perf", "public_images"} <= set(names())
    assert all(suite(name).name == name for name in names())
    lines = invoke("check", "peers", "--list").stdout.splitlines()
    assert [line.partition(":")[0] for line in lines] == names()


def test_a_suite_that_cannot_be_run_ends_with_status_1_and_its_reason(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PORTBENCH_FIRMWARE_DIR", raising=False)
    done = invoke(
        "check",
        "peers",
        "--suite",
        "micropython_tests",
        "--sources",
        str(tmp_path),
        "--record-in",
        str(tmp_path),
        "--record",
    )
    assert done.exit_code == 1
    assert "no image with sha256 9601974d89e3 is in a --sources DIR or $PORTBENCH_FIRMWARE_DIR" in done.stderr
    assert read(tmp_path).suites == ()  # what was not run takes nothing's place
    done = invoke(
        "check", "peers", "--suite", "public_images", "--sources", str(tmp_path), "--record-in", str(tmp_path)
    )
    assert done.exit_code == 0 and "public_images: cp-pico-9.1.4 not had: cp-pico-9.1.4: no image" in done.stdout
    assert invoke("check", "peers", "--suite", "none").exit_code == 2
