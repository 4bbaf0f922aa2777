"""The engine's reader of UF2 files programs what `firmware/uf2.py` programs, which decides for rows and the fixture."""

from typing import Final

import portbench_engine as engine
from hypothesis import given
from hypothesis import strategies as st

from portbench.boards import BoardDefinition, board_definition
from portbench.firmware import uf2

BOARDS: Final = [board_definition(kind) for kind in ("RPI_PICO", "RPI_PICO2")]
PAGE: Final = uf2.PAGE_SIZE


def of_another_family(address: int) -> bytes:
    """A block that a boot loader passes over."""
    return uf2.build(b"other", address, 0x1234_5678)


@given(
    board=st.sampled_from(BOARDS),
    pages=st.dictionaries(st.integers(0, 40), st.binary(min_size=PAGE, max_size=PAGE), min_size=1, max_size=20),
    other=st.booleans(),
    data=st.data(),
)
def test_both_readers_program_the_same(
    board: BoardDefinition, pages: dict[int, bytes], other: bool, data: st.DataObject
) -> None:
    family = board.uf2_family
    file = uf2.build_ranges({uf2.FLASH_BASE + PAGE * page: content for page, content in pages.items()}, family)
    blocks = [file[at : at + uf2.BLOCK_SIZE] for at in range(0, len(file), uf2.BLOCK_SIZE)]
    if other:
        blocks.append(of_another_family(uf2.FLASH_BASE))
    file = b"".join(data.draw(st.permutations(blocks)))
    programmed = uf2.parse(file, family_id=family, flash_size_bytes=board.flash_bytes).programmed()
    assert engine.flash_of_image(file, board.mcu) == programmed
