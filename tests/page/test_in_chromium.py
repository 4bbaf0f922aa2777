"""The page as people see it: in headless Chromium, from a file, on a phone and on a desk, in light and in dark."""

import json
from typing import Any

import pytest

from portbench.results.csv_export import samples_csv
from portbench.results.publish import publish
from portbench.results.storage import to_json
from portbench.runner.board_pictures import board_pictures
from tests.page.conftest import Look
from tests.results.page_run import FULL, HISTORY

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def found(look: Look, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    page = tmp_path_factory.mktemp("page") / "page.html"
    publish(FULL, [page], history=HISTORY, pictures=board_pictures(("W5500_EVB_PICO", "RPI_PICO_W")))
    return look("look.mjs", page)


def test_it_fits_every_screen(found: dict[str, Any]) -> None:
    looks = found["looks"]
    assert [(look["width"], look["colorScheme"]) for look in looks] == [
        (width, scheme) for width in (360, 768, 1440) for scheme in ("light", "dark")
    ]
    for look in looks:
        assert (look["overflow_px"], look["overflow_open_px"], look["cut"]) == (0, 0, []), look
    assert len({look["drawings"] for look in looks}) == 1  # each drawing once, for wide screens or for narrow ones
    for look in looks:
        assert all(abs(scale - 1) < 0.08 for scale in look["scaled"]), look  # text is as large as it was set


def test_the_first_screen_has_the_drawing_and_the_table_its_figure(found: dict[str, Any]) -> None:
    for look in found["looks"]:
        assert look["first_drawing_top"] < 450
        columns = look["table_right"]
        shown = [name for name, right in columns.items() if right <= look["width"]]
        assert {"rank", "runtime", "profile", "messages/s"} <= set(shown), columns
        assert look["width"] < 1440 or shown == [*columns]


def test_dark_is_dark(found: dict[str, Any]) -> None:
    backgrounds = {look["colorScheme"]: look["background"] for look in found["looks"]}
    assert backgrounds == {"light": "rgb(255, 255, 255)", "dark": "rgb(20, 22, 26)"}


def test_axe_finds_no_violation(found: dict[str, Any]) -> None:
    """With every detail unfolded: contrast, names, order of headings, regions that the keyboard can scroll."""
    assert {(look["width"], look["colorScheme"]): look["violations"] for look in found["looks"]} == {
        (width, scheme): [] for width in (360, 768, 1440) for scheme in ("light", "dark")
    }


def test_it_says_nothing_on_the_console_and_asks_for_nothing(found: dict[str, Any]) -> None:
    for look in (*found["looks"], found["use"], found["without_script"]):
        assert look["console"] == []
        assert [address for address in look["requests"] if not address.startswith(("data:", "blob:"))] == [
            look["requests"][0]
        ]
        assert look["requests"][0].startswith("file:")


def test_the_keyboard_sorts_the_table(found: dict[str, Any]) -> None:
    use = found["use"]
    assert use["first_focus"] == "To the results"
    assert use["columns"][:4] == ["rank", "runtime", "profile", "messages/s"]
    best, worst = use["sorted"]["messages/s"]
    assert best == ["descending", ["4444", "1980", "15.6"]] and worst == ["ascending", ["15.6", "1980", "4444"]]
    assert use["sorted"]["round trip us"][0][0] == "ascending"
    best, worst = use["sorted"]["silicon"]
    assert best[1][0] != "" and best[1][-1] == "" == worst[1][-1]  # missing values come last


def test_all_of_it_can_be_taken_along(found: dict[str, Any]) -> None:
    files = found["use"]["files"]
    assert files["run.json"] == to_json(FULL) and files["samples.csv"] == samples_csv(FULL.rows)
    assert files["ping-pong-emulated-what-if.csv"].startswith("row,what if,value,times\nmicropython-1.26.0 tuned,")
    waveform = json.loads(files["ping-pong-emulated-micropython-1-26-0-tuned-waveform.json"])
    assert {"start ns": 50_000, "ns": 10_000, "what": "S0_RX_RSR read", "bytes": 4} in waveform


def test_without_script_everything_can_be_read(found: dict[str, Any]) -> None:
    text = found["without_script"]["text"]
    for words in ("Fastest Python", "micropython-1.26.0", "messages/s", "Downloads"):
        assert words in text
