"""Short rows of each workload: on each kind of network by each Python that runs it there, on this PC, and twice."""

from itertools import product
from typing import Any, Final

import pytest

from portbench.boards import board_definition
from portbench.firmware import catalogue
from portbench.results.model import Status
from portbench.runner.plan import why_not
from portbench.workloads import Readiness, workload, workloads
from tests.measuring import Measure

RUNTIMES = ("micropython-1.26.0", "micropython-pico-w-1.26.1", "circuitpython-9.1.4", "circuitpython-pico2-w-10.0.0")
ROUGH = [("fill", "circuitpython-pico2-w-10.0.0")]
"""Whose times need as many bytes as by default: the air and lwIP's timer put them off the line."""
UNIX, BLINKA = "micropython-unix", "circuitpython-blinka"
WIZNET, LWIP, SSL = (("wiznet-hardwired", "tuned"), ("micropython-1.26.0", "tuned"), ("micropython-1.28.0", "tuned"))
CIRCUITPYTHON = ("circuitpython-9.1.4", "as-published")

HOSTED: Final[list[tuple[str, str, dict[str, Any], dict[str, float]]]] = [
    *(
        (name, runtime, settings, {})
        for runtime in (UNIX, BLINKA)
        for name, settings in (
            ("bulk", {"transfer_bytes": 600, "writes": "200,300"}),
            ("duplex", {"transfer_bytes": 600, "writes": "200,300"}),
            ("server", {"messages": 30}),
            ("udp", {"sizes": "64", "count": 4, "rates_kbit_s": "100"}),
        )
    ),
    *(
        ("http", UNIX, {"requests": 20, "page": page, **settings}, {"completed": 20, "failed": 0})
        for page in ("static", "dynamic")
        for settings in ({"at_once": 4}, {"keep_alive": 8})
    ),
    # One at a time: the driver may lose one that arrives while it opens its next socket (the workload's README).
    *(("http", BLINKA, {"requests": 4, "page": page}, {"completed": 4, "failed": 0}) for page in ("static", "dynamic")),
    *(
        ("http_asyncio", UNIX, {"requests": 6, **settings}, {"completed": 6, "failed": 0})
        for settings in ({"at_once": 3}, {"page": "dynamic", "keep_alive": 3})
    ),
    *(("many", UNIX, {"trial": trial, "most": 3}, {}) for trial in ("at_once", "rate", "closed", "reset")),
    *(("many", BLINKA, {"trial": trial, "most": 3}, {}) for trial in ("rate", "reset")),
    (
        "mqtt",
        BLINKA,
        {"messages": 2, "commands": 2, "poll_ms": 50, "idle_s": 0, "fault": "none", "payload_bytes": 300},
        {"kept": 1},
    ),
    ("tls", UNIX, {"verify": False, "transfer_bytes": 4096}, {"round_trips": 2}),
    ("tls_asyncio", UNIX, {"verify": False, "transfer_bytes": 4096}, {"round_trips": 2}),
    ("websocket", UNIX, {"messages": 2}, {}),
]
TWICE: Final[list[tuple[str, tuple[str, str], dict[str, Any], dict[str, float]]]] = [
    *(
        (name, board, settings, figures)
        for board in (WIZNET, LWIP)
        for name, settings, figures in (
            ("bulk", {"transfer_bytes": 4096, "writes": "64,2048"}, {}),
            ("duplex", {"transfer_bytes": 2048, "writes": "64,1024"}, {}),
            ("ping", {"count": 3}, {"lost_percent": 0}),
            ("ready", {}, {}),
            ("server", {"messages": 20}, {}),
            ("udp", {"sizes": "512", "count": 8, "rates_kbit_s": "250"}, {}),
            ("fill", {"buffers": 2, "fills": 4}, {}),
            ("http", {"requests": 6}, {"completed": 6, "failed": 0}),
            ("http", {"requests": 6, "page": "dynamic", "at_once": 4}, {"completed": 6, "failed": 0}),
            ("http", {"requests": 6, "keep_alive": 3}, {"completed": 6, "failed": 0}),
            ("many", {"trial": "cable"}, {}),
            ("many", {"trial": "restart"}, {}),
        )
    ),
    ("http_asyncio", LWIP, {"requests": 4}, {"completed": 4}),
    ("http_httpserver", CIRCUITPYTHON, {"requests": 2, "page": "dynamic"}, {"completed": 2, "failed": 0}),
    ("https", SSL, {"pages": "1024"}, {"connections": 2}),  # the port's requests keeps none
    ("https", SSL, {"pages": "1024", "scheme": "http"}, {"connections": 2}),
    ("https_server", SSL, {}, {}),
    # It reports while the end of its last connection is in the air.
    ("https_server", ("micropython-pico2-w-1.28.0", "no-power-save"), {}, {}),
    ("two_boards", SSL, {"messages": 10}, {}),
    ("two_boards", SSL, {"messages": 10, "partner": "wiznet-hardwired"}, {}),
]
ELSEWHERE: Final = {
    ("ping_pong", "micropython-1.26.0"),
    ("ping_pong", "circuitpython-9.1.4"),
    *((name, runtime) for name, (runtime, _), settings, _ in TWICE if "trial" not in settings),
}
"""Golden rows, and those that are measured twice."""


def _runs(name: str, runtime: str) -> bool:
    if (name, runtime) in ELSEWHERE:
        return False
    entry = catalogue.load().get(runtime)
    asked = workload(name)
    return asked.readiness is not Readiness.BOOTED and why_not(entry, board_definition(entry.board), asked) is None


@pytest.mark.engine
@pytest.mark.slow
@pytest.mark.parametrize(
    ("runtime", "name"), [(each, name) for each, name in product(RUNTIMES, workloads()) if _runs(name, each)]
)
def test_each_workload_is_measured_on_each_network(runtime: str, name: str, measured_row: Measure) -> None:
    asked = workload(name)
    profile = catalogue.load().get(runtime).profiles[-1].name
    settings = asked.settings_type() if (name, runtime) in ROUGH else asked.quick()
    row = measured_row(asked, runtime, profile, **settings.model_dump(exclude_unset=True))
    assert row.status is Status.MEASURED, row.reason
    assert row.figures.get("failed", 0) == row.figures.get("lost_percent", 0) == 0


def _each(rows: list[Any]) -> list[Any]:
    """The rows with an id each; Blinka's driver has the engine's chip at its end."""
    return [
        pytest.param(*row, id=f"{row[0]}-{row[1]}-{row[2]}", marks=[pytest.mark.engine] if row[1] != UNIX else [])
        for row in rows
    ]


@pytest.mark.parametrize(("name", "runtime", "settings", "figures"), _each(HOSTED))
def test_a_row_on_this_pc(
    name: str, runtime: str, settings: dict[str, Any], figures: dict[str, float], measured_row: Measure
) -> None:
    row = measured_row(workload(name), runtime, **settings)
    assert row.status is Status.MEASURED, row.reason
    assert row.figures | figures == row.figures


@pytest.mark.slow
@pytest.mark.parametrize(("name", "board", "settings", "figures"), _each(TWICE))
def test_a_row_repeats_exactly(
    name: str, board: tuple[str, str], settings: dict[str, Any], figures: dict[str, float], measured_row: Measure
) -> None:
    first, second = (measured_row(workload(name), *board, **settings) for _ in range(2))
    assert first.status is Status.MEASURED, first.reason
    assert first.figures == second.figures and first.samples == second.samples
    assert first.figures | figures == first.figures
