"""Names of the code whose misses an attribution has."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portbench.errors import PortbenchError
from portbench.results.attribution import Attribution
from portbench.runner.profile.attributed import functions, with_names
from portbench.runner.profile.symbols import Symbol
from tests.conftest import Image
from tests.ping_pong import NATIVE_IMAGE

MAP = """Linker script and memory map

.text           0x10000100      0x300
 .text.main     0x10000100      0x100 /build/firmware/main.c.obj
 .text.tcp_receive
                0x10000200       0x80 /build/lwip/core/tcp_in.c.obj
.data           0x20000000       0x40
 .text.gc_collect
                0x20000010       0x30 /build/py/gc.c.obj
"""


def told() -> dict[str, Any]:
    """Attribution as a board reports it."""
    return {
        "flash_pages": {"misses": {"0x10000000": 12}},
        "flash_lines": [(0x1000_0100, 2), (0x1000_0208, 9), (0x1000_0300, 1)],
    }


def test_a_map_names_what_missed_and_what_runs_from_sram(tmp_path: Path) -> None:
    map_file = tmp_path / "firmware.map"
    map_file.write_text(MAP)
    found = Attribution.model_validate(with_names(told(), NATIVE_IMAGE, map_file))
    assert [(each.name, each.misses, each.region, each.section) for each in found.functions] == [
        ("tcp_receive", 9, "flash", ".text.tcp_receive core/tcp_in.c.obj"),
        ("main", 2, "flash", ".text.main firmware/main.c.obj"),
        ("gc_collect", 0, "SRAM", ".text.gc_collect py/gc.c.obj"),
    ]
    assert {each.known_by for each in found.functions} == {"map"}


def test_a_file_of_names_beside_the_image_is_found_and_a_broken_one_costs_no_row(tmp_path: Path) -> None:
    image = tmp_path / "firmware.uf2"
    image.write_bytes(NATIVE_IMAGE.read_bytes())
    beside = image.with_suffix(".map")
    beside.write_text(MAP)
    found = with_names(told(), image)
    assert found is not None and found["functions"][0]["name"] == "tcp_receive"
    beside.write_text("nothing of the kind")
    found = with_names(told(), image)
    assert found is not None and found["functions"] == []
    with pytest.raises(PortbenchError, match="is neither an ELF file nor a linker map"):
        with_names(told(), image, beside)


def test_without_names_nothing_is_named() -> None:
    found = Attribution.model_validate(with_names(told(), NATIVE_IMAGE))
    assert found.functions == [] and found.flash_pages.misses == {"0x10000000": 12}
    assert with_names(None, NATIVE_IMAGE) is None


@pytest.mark.parametrize(
    ("runtime", "runs_from"), [("micropython-pico-1.24.1", "SRAM"), ("micropython-pico-1.26.1", "flash")]
)
def test_micropython_tells_where_its_interpreter_runs(runtime: str, runs_from: str, image: Image) -> None:
    found = Attribution.model_validate(with_names(told(), image(runtime)))
    (loop,) = found.functions
    assert (loop.name, loop.region, loop.known_by) == ("mp_execute_bytecode", runs_from, "image")
    assert 4000 < loop.bytes < 5000


lines = st.dictionaries(st.integers(0, 500).map(lambda line: 0x1000_0000 + 8 * line), st.integers(1, 1000))
places = st.lists(st.tuples(st.integers(0, 400), st.integers(1, 30)), max_size=10, unique_by=lambda place: place[0])


@given(lines, places)
def test_no_miss_is_counted_twice_or_made_up(missed: dict[int, int], known: list[tuple[int, int]]) -> None:
    symbols = [Symbol(0x1000_0000 + 8 * start, 8 * size, f"f{start}") for start, size in known]
    found = functions(symbols, "elf", missed.items())
    covered = {line for line in missed for symbol in symbols if symbol.start <= line < symbol.start + symbol.size}
    assert sum(each["misses"] for each in found) <= sum(missed[line] for line in covered)
    assert all(each["misses"] for each in found), "those in flash that never missed are left out"
    misses = [each["misses"] for each in found]
    assert misses == sorted(misses, reverse=True)
