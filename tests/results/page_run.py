"""A small run that has something of everything that a page shows."""

from datetime import timedelta
from typing import Any, Final

from portbench.results.attribution import Attribution, Spans
from portbench.results.histories.store import entries_of
from portbench.results.model import CableFrame, Git, IntnLevel, Published, SpiFrames, Waveform, WhatIf
from tests.results.rows import START, missing, other_row, row, run_of

_LINE: Final = "network.WIZNET5K(SPI(0, 2_000_000, mosi=Pin(19), miso=Pin(16), sck=Pin(18)), Pin(17), Pin(20))"

_TUNED: Final[dict[str, Any]] = {
    "runtime": "micropython-1.26.0",
    "profile": "tuned",
    "line": "network.WIZNET5K()",
    "offers": {"released": "2025-08-09", "maintained": True, "sources": ["https://micropython.org/download"]},
}


def _closer(us: int) -> dict[str, Any]:
    """Return what `--attribute` and `--what-if` store, for messages of so many microseconds."""
    ps = us * 1_000_000
    parts = {"spi_bits": ps // 4, "code_miss": ps // 2, "pc": ps // 8, "wait_poll": ps - ps // 4 - ps // 2 - ps // 8}
    spans = Spans(
        names=["message"] * 2,
        start_ps=[0, 2 * ps],
        duration_ps=[ps, ps],
        reported_us=[us, us],
        causes_ps={name: [part, part] for name, part in parts.items()},
    )
    ns = us * 1000
    waveform = Waveform(
        noun="message",
        number=2,
        duration_ns=ns,
        spi=SpiFrames(
            start_ns=[ns // 10 * each for each in range(1, 5)],
            duration_ns=[ns // 50] * 4,
            name=["S0_RX_RSR", "S0_RX_RSR+1", "S0 RX buffer", "S0_CR"],
            write=[False, False, False, True],
            wire_bytes=[4, 4, 5, 4],
        ),
        spi_left_out=7,
        cable=[
            CableFrame(start_ns=ns // 20, duration_ns=5760, sender="pc", length_bytes=60),
            CableFrame(start_ns=ns - 5760, duration_ns=5760, sender="board", length_bytes=56),
        ],
        intn=[
            IntnLevel(at_ns=0, high=True),
            IntnLevel(at_ns=ns // 20, high=False),
            IntnLevel(at_ns=ns // 2, high=True),
        ],
    )
    changes = [
        WhatIf(name="no_cache_misses", title="no flash cache miss costs anything", value=5e5 / us, times=1.5),
        WhatIf(name="turnaround_0", title="the PC answers at once", value=4e5 / us, times=1.1),
    ]
    return {"attribution": Attribution(spans=spans), "waveform": waveform, "what_if": changes}


FULL: Final = run_of(
    row(2000, 0, [499, 501, 500, 500], **_TUNED, **_closer(500)),
    row(2040, 1, [499, 541, 500, 500], **_TUNED),
    row(
        256_000,
        runtime="micropython-1.26.0",
        profile="as-published",
        line=_LINE,
        published=Published(values=[3.9, 3.8], source="someone", url="https://example.org/figures"),
        **_closer(64_000),
    ),
    row(900, runtime="portbench-native", family="native", profile="tuned"),
    other_row(30, runtime="slow"),
    other_row(12.5, runtime="fast", build="a-folder-with-a-long-name/some-firmware-of-a-long-name.uf2"),
    missing("other", "skipped", "no image", image_url="https://example.org/other.uf2"),
    missing("broken", "failed", "waited 5 s for <the> console"),
    finished_utc=START + timedelta(seconds=9),
    tools={"rich": "15", "mpremote": "1.29"},
    git=Git(revision="a" * 40, dirty=True),
)

HISTORY: Final = [
    entry
    for day in range(4)
    for entry in entries_of(
        run_of(
            row(2000 if day < 3 else 2200, runtime="micropython-1.26.0", version="1.26.0", profile="tuned"),
            row(1600, runtime="micropython-1.28.0", version="1.28.0", profile="tuned"),
            row(90_000, runtime="circuitpython-9.1.4", version="9.1.4"),
        ).model_copy(update={"started_utc": START + timedelta(days=day)}),
        f"2026-01-0{day + 2}T030405Z.json",
    )
]
