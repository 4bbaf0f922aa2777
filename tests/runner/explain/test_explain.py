"""A run's time by cause: recorded without moving it, summed to the picosecond, and put into words."""

import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from portbench.boards import Deadline
from portbench.boards.emulated.replay import Attributed, Replay
from portbench.errors import OptionError
from portbench.results.attribution import Attribution
from portbench.results.explain import compared, explained
from portbench.results.model import Row
from portbench.results.storage import read
from portbench.runner.cli.group import portbench
from portbench.runner.cli.row import RowName, row_options, stored_row
from portbench.runner.options import read_options
from portbench.runner.plan import PlannedRow, plan
from portbench.runner.profile.attributed import with_names
from portbench.runner.replayed import ReplayedRow
from tests.conftest import Image
from tests.ping_pong import NATIVE_IMAGE
from tests.results.explain import synthetic
from tests.results.rows import run_of

pytestmark = pytest.mark.engine
MESSAGES = 12


def measured(runtime: str, profile: str | None = None, **given: str) -> ReplayedRow:
    asked = {"runtime": [runtime], "where": "emulated", "runs": 1, **given}
    if profile is not None:
        asked["profile"] = [profile]
    if "workload" in asked:
        asked["workload"] = [asked["workload"]]
    options = read_options(asked).but(quick=True)
    return ReplayedRow(plan(options)[0])


def check_whole(row: Row, *, exact: bool = True) -> Attribution:
    """Sums to what the client reports, at least 95 % of every span named."""
    attribution = row.attribution
    assert attribution is not None
    for span in attribution.spans:
        assert sum(span.causes_ps.values()) == span.duration_ps
        assert span.named_share >= 0.95
        if exact:
            assert span.reported_us is not None
            assert span.duration_ps == span.reported_us * 1_000_000
    return attribution


@pytest.fixture(scope="module")
def native_row() -> PlannedRow:
    return plan(read_options({"runtime": ["portbench-native"], "where": "emulated", "runs": 1, "messages": "12"}))[0]


@pytest.fixture(scope="module")
def native(native_row: PlannedRow) -> Attributed:
    """Not with the probes that `ReplayedRow` compares with, but with all others on as well."""
    config, flash = ReplayedRow(native_row).prepared
    settings = native_row.settings.model_dump(mode="json")
    replay = Replay(native_row.board, config, flash, "ping_pong", settings)
    limit = Deadline(60, "replay")
    plain = replay.run(limit)
    traced = replay.trace(plain, 5, limit, pc_sample_cycles=100)
    assert traced.frames
    attributed = replay.attribute(native_row.workload.timed, limit)
    assert attributed.figures == plain
    return attributed


def test_recording_moves_nothing_and_all_of_every_message_is_attributed(native: Attributed) -> None:
    attribution = Attribution.model_validate(with_names(native.attribution, NATIVE_IMAGE))
    result = native.figures.result
    assert result is not None
    assert attribution.spans.names == ["message"] * MESSAGES
    assert [ps // 1_000_000 for ps in attribution.spans.duration_ps] == result["round_trip_us"]
    starts, durations = attribution.spans.start_ps, attribution.spans.duration_ps
    received = native.figures.sessions[0].received_us
    for start, duration, received_us in zip(starts, durations, received, strict=True):
        assert start <= received_us * 1e6 <= start + duration
    # The PC takes 200 us and a frame of 60 bytes 5.76: nothing of that is the board's.
    for span in list(attribution.spans)[1:]:
        assert abs(span.ps("pc") - 200_000_000) < 1_500_000
        assert (span.ps("wire_to_pc"), span.ps("wire_to_board")) == (5_760_000, 5_760_000)
        assert span.counts["spi_frames"] == sum(span.registers.values())
        assert span.ps("unnamed") == 0


def test_the_way_to_ready_is_attributed_too(native: Attributed) -> None:
    stages = list(Attribution.model_validate(with_names(native.attribution, NATIVE_IMAGE)).stages)
    assert stages[0].start_ps == 0
    assert all(one.start_ps + one.duration_ps == two.start_ps for one, two in itertools.pairwise(stages))
    assert sum(stage.ps("link") for stage in stages) > 1_400_000_000_000  # of the 1.5 s that the PHY takes


def test_a_bench_row_keeps_its_attribution_and_is_explained_from_it(tmp_path: Path) -> None:
    folder = f"--results-dir={tmp_path}"
    command = ["run", "--runtime", "portbench-native", "--where=emulated", "--messages=12", "--runs=2", "--attribute"]
    command.append("--setting=seed=fixed")
    assert CliRunner().invoke(portbench, [*command, folder]).exit_code == 0
    run = read(tmp_path / "latest.json")
    first, second = run.rows
    assert second.attribution is None
    assert first.simulated_figures() == {**second.simulated_figures(), "run_index": 0}
    check_whole(first)
    assert stored_row(run, RowName.read("portbench-native/tuned"), "ping_pong") == first

    told = CliRunner().invoke(portbench, ["explain", "portbench-native", folder, "--json"])
    report = json.loads(told.stdout)
    assert (told.exit_code, report["measured"], report["spans"]) == (0, False, MESSAGES)
    assert report["least_attributed_share"] == 1.0
    assert [sentence["rule"] for sentence in report["sentences"]][:1] == ["network_bound"]
    assert sum(cause["us"] for cause in report["causes"]) == pytest.approx(report["duration_us"])
    shown = CliRunner().invoke(portbench, ["explain", "portbench-native", folder], env={"COLUMNS": "80"})
    assert "the PC prepares its answer" in shown.stdout
    table = " ".join(CliRunner().invoke(portbench, ["show", folder], env={"COLUMNS": "80"}).stdout.split())
    assert f"Why, portbench-native tuned: {report['sentences'][0]['text']}" in table
    assert max(map(len, shown.stdout.splitlines())) <= 100


def test_one_message_alone(tmp_path: Path) -> None:
    def explained_json(*words: str) -> dict[str, Any]:
        told = CliRunner().invoke(portbench, ["explain", "portbench-native", folder, "--json", *words])
        assert told.exit_code == 0, told.output
        found: dict[str, Any] = json.loads(told.stdout)
        return found

    folder = f"--results-dir={tmp_path}"
    command = ["run", "--runtime", "portbench-native", "--where=emulated", "--messages=5", "--runs=1", "--attribute"]
    assert CliRunner().invoke(portbench, [*command, folder]).exit_code == 0
    (row,) = read(tmp_path / "latest.json").rows
    third, slowest = explained_json("--message", "3"), explained_json("--slowest")
    assert (third["spans"], third["duration_us"]) == (1, row.samples["round_trip_us"][2])
    assert slowest["duration_us"] == max(row.samples["round_trip_us"])
    # Frames, bytes and registers are whole numbers of this message, and not averages.
    assert third["counts"]["spi_frames"] == sum(third["registers"].values()) == int(third["counts"]["spi_frames"])
    assert third["registers"]["S0_RX_RSR read"] >= 1
    told = CliRunner().invoke(portbench, ["explain", "portbench-native", folder, "--message", "6"])
    assert (told.exit_code, "--message: 6: the row has 5; choose 1 to 5" in told.output) == (2, True)


def test_requests_that_the_pc_timed_are_windows_of_its_clock(image: Image) -> None:
    image("micropython-1.26.0")
    row = measured("micropython-1.26.0", "tuned", workload="http").row()
    attribution = check_whole(row, exact=False)
    reported = [span.reported_us for span in attribution.spans]
    assert reported == pytest.approx(row.samples["total_us"]) and attribution.spans.names == ["request"] * len(reported)
    assert attribution.spans.total().duration_ps == pytest.approx(sum(row.samples["total_us"]) * 1e6)


def test_transfers_are_attributed(image: Image) -> None:
    image("micropython-1.26.0")
    row = measured("micropython-1.26.0", "tuned", workload="bulk").row()
    assert check_whole(row).spans.names[:3] == ["up_256", "down_256", "echo_256"]


def test_what_if_is_run_and_not_stored(tmp_path: Path) -> None:
    command = ["explain", "portbench-native", f"--results-dir={tmp_path}", "--what-if", "--json"]
    told = CliRunner().invoke(portbench, command)
    changes = {each["name"]: each for each in json.loads(told.stdout)["what_if"]}
    assert list(changes) == ["no_cache_misses", "spi_twice", "turnaround_0"]
    assert changes["no_cache_misses"]["times"] == pytest.approx(1.0, abs=0.001)  # it runs from SRAM
    assert 1.005 < changes["spi_twice"]["times"] < 1.1
    assert changes["turnaround_0"]["times"] > 5
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["portbench-native", "--file", "run.json", "--what-if"], "--what-if: runs the row; leave out --file"),
        (["portbench-native/"], "'portbench-native/' is not a row; use RUNTIME/PROFILE"),
        (["portbench-native/fast"], "--profile: unknown profile 'fast'; choose one of tuned"),
    ],
)
def test_what_cannot_be_explained_is_told_in_one_line(arguments: list[str], said: str, tmp_path: Path) -> None:
    told = CliRunner().invoke(portbench, ["explain", *arguments, f"--results-dir={tmp_path}"])
    assert told.exit_code == 1 or told.exit_code == 2
    assert said in told.output


def test_a_row_without_attribution_is_not_taken_from_a_file(tmp_path: Path) -> None:
    command = ["run", "--runtime", "portbench-native", "--where=emulated", "--messages=2", "--runs=1"]
    assert CliRunner().invoke(portbench, [*command, f"--results-dir={tmp_path}"]).exit_code == 0
    told = CliRunner().invoke(portbench, ["explain", "portbench-native", "--file", str(tmp_path / "latest.json")])
    assert "has no ping_pong row portbench-native with an attribution" in told.output


def test_names_of_rows() -> None:
    assert RowName.read("micropython-1.26.0/tuned") == RowName("micropython-1.26.0", "tuned")
    for file in ("build/firmware.uf2", "build/ping_pong.hex", "BUILD/PING_PONG.ELF"):
        assert RowName.read(file) == RowName(file, None)
    for wrong in ("/tuned", "micropython/"):
        with pytest.raises(OptionError, match="is not a row"):
            RowName.read(wrong)
    asked = {"runtime": ["micropython-1.26.0"], "workload": "bulk", "where": "emulated", "runs": 1}
    for name, profile in (("", {}), ("/tuned", {"profile": ["tuned"]})):
        options = row_options(f"micropython-1.26.0{name}", {"workload": "bulk", "runs": 9})
        assert options == read_options({**asked, **profile}).but(quick=True)
    rows = [explained_row(*each) for each in (("a", None), ("b", "x"), ("a", "x"), ("a", "y"))]
    rows[0] = rows[0].model_copy(update={"attribution": None})
    found = [stored_row(run_of(*rows), RowName.read(each), "ping_pong") for each in ("a", "a/y", "b/x", "b/y", "c")]
    assert found == [rows[2], rows[3], rows[1], None, None]
    assert stored_row(run_of(*rows), RowName("a", None), "bulk") is None


def explained_row(runtime: str, profile: str | None) -> Row:
    return synthetic.row({"code_run": 1}).model_copy(update={"runtime": runtime, "profile": profile})


def said(row: Row) -> dict[str, str]:
    return {sentence.rule: sentence.text for sentence in explained(row)}


@pytest.mark.parametrize(
    ("runtime", "profile", "rule", "words", "others"),
    [
        (
            "micropython-1.26.0",
            "as-published",
            "unread_until_poll",
            "until a timer's poll about every 64 ms: INTn is not connected",
            {"flash_misses", "network_bound", "byte_by_byte"},
        ),
        (
            "micropython-1.26.0",
            "tuned",
            "flash_misses",
            "49 % of the time is flash cache misses",
            {"unread_until_poll"},
        ),
        ("wiznet-hardwired", "as-published", "slow_spi", "SPI at 1.95 of 33 MHz", {"polled_register"}),
    ],
)
def test_a_row_is_explained_by_what_holds_it_up(
    runtime: str, profile: str, rule: str, words: str, others: set[str], image: Image
) -> None:
    image(runtime)
    row = measured(runtime, profile).row()
    check_whole(row)
    told = said(row)
    assert words in told[rule] and others.isdisjoint(told)


@pytest.mark.slow
def test_circuitpython_sends_byte_by_byte(image: Image) -> None:
    image("circuitpython-9.1.4")
    row = measured("circuitpython-9.1.4", "as-published", messages="5").row()
    check_whole(row, exact=False)  # its clock moves in steps of 31 us
    told = said(row)
    assert told["byte_by_byte"].startswith("the driver hands the SPI bus each byte by itself")
    assert told["network_hidden"].startswith("the answer is there 212 us after the message was sent")


@pytest.mark.slow
def test_the_interpreter_has_moved_to_flash(image: Image) -> None:
    rows = []
    for runtime in ("micropython-pico-1.24.1", "micropython-pico-1.26.1"):
        image(runtime)
        rows.append(measured(runtime, workload="interpreter", passes="1000").row())
        check_whole(rows[-1])
    (sentence,) = compared(*rows)
    assert sentence.rule == "moved_to_flash"
    assert sentence.text.startswith("what runs most moved from SRAM to flash")
    assert "`mp_execute_bytecode` (0x2000263c -> 0x1001beaa) runs from flash now" in sentence.text


@pytest.mark.slow
def test_a_radio_s_time_is_told_place_by_place(image: Image) -> None:
    image("micropython-pico-w-1.26.1")
    row = measured("micropython-pico-w-1.26.1", "no-power-save", messages="20").row()
    attribution = check_whole(row)
    whole = attribution.spans.total()
    assert whole.named_share == 1
    assert whole.ps("radio") == len(attribution.spans) * 300_000_000, "each way 0.15 ms"
    assert whole.ps("access_point") >= len(attribution.spans) * 2_440_000_000, "1.22 ms at least"
    assert whole.ps("air") > 0 < whole.ps("spi_bits") and whole.ps("power_save") == 0
    assert explained(row)[0].rule == "wifi_bound"
    assert [stage.name for stage in attribution.stages if stage.ps("link")] == ["link"]
