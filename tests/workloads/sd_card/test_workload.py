"""Figures that the workload makes of a client's result, and its settings for the client."""

from typing import Any

import pytest
from pydantic import ValidationError

from portbench.clients import build_deployment
from portbench.clients.libraries import FOLDER_VARIABLE, OFFLINE_VARIABLE
from portbench.errors import PortbenchError
from portbench.workloads import BadResult
from portbench.workloads.sd_card.workload import WORKLOAD, Settings
from tests.ping_pong import EVB

SETTINGS = Settings(file_bytes=10 * 512)
WAY = {"total_us": 12_000, "min_us": 900, "max_us": 1500, "sum_us": 9_900}


def result(**changes: Any) -> dict[str, Any]:
    ways = {f"{way}_{name}": value for way in ("write", "read") for name, value in WAY.items()}
    return {**ways, "read_total_us": 10_240, "card_spi_hz": 31_250_000, **changes}


def test_figures_are_of_whole_blocks_and_thousands_of_bytes() -> None:
    figures = WORKLOAD.check(result(), SETTINGS).figures
    assert figures["read_kb_s"] == 500.0
    assert figures["write_kb_s"] == pytest.approx(426.67, abs=0.01)
    assert figures["write_latency_avg_us"] == 1100.0
    assert (figures["write_latency_min_us"], figures["write_latency_max_us"]) == (900, 1500)
    assert figures["spi_mhz"] == 31.25


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"write_total_us": 0}, "the client's write_total_us is 0"),
        ({"write_sum_us": 12_001}, "the client's write took 12000 us"),
        ({"write_min_us": 1501}, "calls of 1501 to 1500 us"),
        ({"write_max_us": 1000}, "these contradict each other"),
    ],
)
def test_what_cannot_be_is_refused(changes: dict[str, Any], said: str) -> None:
    with pytest.raises(BadResult, match=said):
        WORKLOAD.check(result(**changes), SETTINGS)


def test_published_figures_give_rates() -> None:
    assert WORKLOAD.derive({"read_total_us": 5_120.0}, SETTINGS)["read_kb_s"] == 1000.0


def test_the_bus_is_seen_on_emulated_boards() -> None:
    figures = WORKLOAD.check(result(), SETTINGS).figures
    counters = {"sd_read_clocked_us": 2560.0, "sd_read_gap_median_ns": 304, "sd_write_gap_median_ns": 320}
    seen = WORKLOAD.simulated(counters, figures, SETTINGS)
    assert seen == {"read_sck_idle_percent": 75.0, "read_gap_median_ns": 304, "write_gap_median_ns": 320}
    assert WORKLOAD.simulated({}, figures, SETTINGS) == {}


def test_each_family_has_its_drivers() -> None:
    assert WORKLOAD.libraries("micropython", SETTINGS) == ("sdcard",)
    assert WORKLOAD.libraries("circuitpython", SETTINGS) == ()
    assert "adafruit-circuitpython-sd" in WORKLOAD.libraries("circuitpython", Settings(driver="adafruit_sdcard"))
    with pytest.raises(ValueError, match="-s driver=sdcardio: wiznet has sdcard"):
        WORKLOAD.check_room("wiznet", Settings(driver="sdcardio"))


def test_a_driver_that_is_not_at_hand_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)
    monkeypatch.setenv(OFFLINE_VARIABLE, "1")
    monkeypatch.setattr("portbench.clients.libraries.user_cache_path", lambda name: tmp_path)
    with pytest.raises(PortbenchError, match="PORTBENCH_FIRMWARE_DIR"):
        build_deployment("micropython", "1.26.0", EVB, WORKLOAD, SETTINGS, None)


def test_the_pins_are_the_boards() -> None:
    script = build_deployment("circuitpython", "9.1.4", EVB, WORKLOAD, SETTINGS, None).files["code.py"].decode()
    assert "busio.SPI(board.GP10, board.GP11, board.GP12)" in script
    assert "Pin(13)" in script and "BOARD_" not in script


@pytest.mark.parametrize("bad", [{"file_bytes": 512}, {"card": "floppy"}, {"card_state": "new"}, {"spi_hz": 1}])
def test_settings_have_their_ranges(bad: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        Settings(**bad)


def test_what_is_at_the_board() -> None:
    assert WORKLOAD.equipment(Settings(card_state="missing")) == {"sd_card": None}
    worn = WORKLOAD.equipment(Settings(card="memorex-2gb", card_state="worn", card_seed=3))
    assert worn == {"sd_card": {"kind": "memorex-2gb", "state": "worn", "seed": 3}}


@pytest.mark.engine
def test_the_cards_are_those_of_the_engine() -> None:
    import portbench_engine as engine

    kinds = Settings.model_fields["card"].annotation.__args__  # type: ignore[union-attr]
    assert list(kinds) == [name for name, _ in engine.SD_CARDS]


def test_the_native_client_has_its_own_driver() -> None:
    WORKLOAD.check_room("native", Settings())
    for settings in (Settings(spi_hz=1_000_000), Settings(driver="sdcard")):
        with pytest.raises(ValueError, match="built for spi_hz=31250000"):
            WORKLOAD.check_room("native", settings)
    assert WORKLOAD.native_settings(Settings()) == [9765]
