"""`portbench check peers`, without any source or image."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from portbench.runner.checks.peers.record import read
from tests.cli.conftest import Invoke

pytestmark = pytest.mark.engine


def test_all_suites_are_listed(invoke: Invoke) -> None:
    from portbench.runner.checks.peers.check import suites

    names = sorted(each.name for each in suites())
    assert {"micropython_tests", "micropython_native", "micropython_perf", "public_images"} <= set(names)
    lines = invoke("check", "peers", "--list").stdout.splitlines()
    assert [line.partition(":")[0] for line in lines] == names


def test_a_suite_that_cannot_be_run_ends_with_status_1_and_its_reason(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PORTBENCH_FIRMWARE_DIR", raising=False)
    file = tmp_path / "record.json"
    sources = ("--sources", str(tmp_path))
    done = invoke("check", "peers", "--part", "micropython_tests", *sources, "--record", str(file))
    assert done.exit_code == 1
    assert "no image with sha256 9601974d89e3 is in a --sources DIR or $PORTBENCH_FIRMWARE_DIR" in done.stdout
    assert done.stderr.splitlines()[-1] == "1 of 1 parts could not be measured: micropython_tests"
    assert read(file) == {}  # a suite that was not run replaces nothing
    done = invoke("check", "peers", "--part", "public_images", *sources)
    assert done.exit_code == 1 and "public_images: cp-pico-9.1.4 not had: cp-pico-9.1.4: no image" in done.stdout
    assert done.stderr.splitlines()[-1] == "1 of 1 parts could not be measured: public_images"
    (suite,) = json.loads(invoke("check", "peers", "--part", "public_images", *sources, "--json").stdout)["parts"]
    assert "cp-pico-9.1.4" in [finding["name"] for finding in suite["findings"]]
    assert invoke("check", "peers", "--part", "none").exit_code == 2
