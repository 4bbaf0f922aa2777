"""A row without a measurement; its reason is one line, and can be published."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import IPv4Address
from pathlib import Path

import pytest

from portbench.boards import OwnNetwork, RunOutput
from portbench.results.model import Published, Status
from portbench.runner.collect import RowDraft, check_result, one_line
from portbench.runner.options import BenchOptions
from portbench.runner.plan import plan
from portbench.where import Where


def test_a_reason_is_one_line() -> None:
    assert one_line("a\n  b\r\nc") == "a b c"
    assert one_line(" \n") == "no reason was given"


def test_the_pcs_own_folders_have_names_that_a_shell_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/user")
    monkeypatch.setenv("PORTBENCH_FIRMWARE_DIR", "/data/images/")
    assert one_line("not in /data/images/x.uf2 nor /home/user/.cache/y") == (
        "not in $PORTBENCH_FIRMWARE_DIR/x.uf2 nor ~/.cache/y"
    )
    assert one_line("/home/userelse/x") == "/home/userelse/x"
    monkeypatch.setenv("HOME", "/")
    monkeypatch.delenv("PORTBENCH_FIRMWARE_DIR")
    assert Path.home() == Path("/") and one_line("/usr/bin") == "/usr/bin"


@pytest.mark.parametrize("own", [None, OwnNetwork(IPv4Address("192.168.50.1"), 5000, ("", "", "", ""), 200)])
def test_an_emulated_row_with_a_real_pc_says_so(own: OwnNetwork | None) -> None:
    (planned,) = plan(BenchOptions(runtimes=("wiznet-2.0.0",), profiles=("as-published",), runs=1))
    draft = RowDraft(planned, BenchOptions(), Where.EMULATED, own_network=own)
    trips = [1000] * planned.settings.model_dump()["messages"]
    said = {"messages": len(trips), "total_us": sum(trips), "round_trip_us": trips}
    row = draft.measured(check_result(said, planned.workload, planned.settings, []), RunOutput(said, []))
    assert row.conditions.bridged is (True if own is None else None)
    silicon = replace(draft, where=Where.SILICON)
    assert silicon.failed("no board", []).conditions.bridged is None


def test_a_row_that_was_not_measured_still_says_what_it_was_to_be() -> None:
    options = BenchOptions(runtimes=("wiznet-2.0.0",), profiles=("as-published",), runs=2, settings={"messages": "7"})
    second = plan(options)[1]
    row = RowDraft(second, options, Where.EMULATED, log="runs/x/y.log").ended(Status.SKIPPED, "no\nimage")
    assert (row.workload, row.runtime, row.profile, row.run_index) == ("ping_pong", "wiznet-2.0.0", "as-published", 1)
    assert (row.build, row.image_file) == ("rp2_w5500_20221111_v2.0.0.uf2",) * 2
    assert row.settings == {"messages": 7} and row.conditions.spi_hz_asked == 2_000_000
    assert row.headline is None and row.figures == {} and row.reason == "no image" and row.version == "2.0.0"
    assert row.published == Published(
        values=[1000 * 1e6 / total_us for total_us in (1_377_000, 1_383_000, 1_388_000)],
        stated=723,
        source="S. Hennion, 2023-09-25",
        url="https://sjhennion.github.io/jekyll/update/2023/09/25/w5500-bootloader-speed-test.html",
    )
