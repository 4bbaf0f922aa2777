"""The SD card in an emulated board's socket, and the file that has its memory."""

import os
import shutil
from dataclasses import replace
from pathlib import Path

import portbench_engine as engine
import pytest
from pydantic import ValidationError

from portbench.boards import BoardUnavailable, board_definition
from portbench.boards.emulated.config import CONFIG, EmulatedConfig
from portbench.boards.emulated.sd_card import KINDS, CardImage, CardSlot, SdCard, new_medium
from portbench.firmware.uf2 import flash_content
from tests import patience
from tests.boards.desk.test_flash_file import Clock
from tests.ping_pong import NATIVE_IMAGE

PICO = board_definition("RPI_PICO")
MIB = 1 << 20


def mtools(*command: object) -> str:
    """mtools as second opinion: what it says of an image."""
    tool = shutil.which(str(command[0]))
    if tool is None:
        pytest.skip("no mtools; run: sudo .ci/install-system-packages")
    done = patience.run([tool, *map(str, command[1:])], 120, env={**os.environ, "MTOOLS_SKIP_CHECK": "1"})
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "card.img"


def test_a_new_image_is_a_formatted_card_that_takes_little_room(path: Path) -> None:
    image = CardImage(SdCard(), path)
    image.close()
    assert path.stat().st_size == image.medium.blocks * 512 > 31_000_000_000
    assert path.stat().st_blocks * 512 < 4 * MIB
    assert sorted(each.name for each in path.parent.iterdir()) == ["card.img", "card.img.lock"]
    assert "SDCARD" in mtools("mdir", "-i", path, "::")


def test_what_the_pc_put_on_it_is_on_the_card_and_the_other_way(path: Path, tmp_path: Path) -> None:
    card = SdCard(kind="memorex-2gb")
    CardImage(card, path).close()
    (tmp_path / "hello.txt").write_text("from the PC")
    mtools("mcopy", "-i", path, tmp_path / "hello.txt", "::HELLO.TXT")

    image = CardImage(card, path)
    (start,) = (
        at
        for offset, length in image.medium.extents()
        if (at := image.medium.read(offset, length).find(b"from the PC") + offset) >= offset
    )
    image.medium.write(start, b"to the PC, ")
    image.save()
    image.close()
    assert mtools("mtype", "-i", path, "::HELLO.TXT") == "to the PC, "


def of_file(path: Path, at: int, length: int) -> bytes:
    with path.open("rb") as file:
        file.seek(at)
        return file.read(length)


def test_it_is_saved_once_the_board_has_done_writing(path: Path) -> None:
    clock = Clock()
    card = SdCard(kind="memorex-2gb")
    image = CardImage(card, path, clock=clock)
    image.medium.write(512 * 9000, b"new")
    image.look()
    clock.now_s = 0.9
    image.look()
    assert of_file(path, 512 * 9000, 3) == b"\0\0\0"
    clock.now_s = 1.1
    image.look()
    assert of_file(path, 512 * 9000, 3) == b"new"
    image.close()


@pytest.mark.parametrize(
    ("size", "kind", "said"),
    [
        (0, KINDS[0], "has 0 bytes; a card has a multiple of 524288"),
        (MIB + 512, KINDS[0], "has 1049088 bytes; a card has a multiple of 524288"),
        (4 << 30, "memorex-2gb", "has 4294967296 bytes; a memorex-2gb has at most 2147483648"),
        (64 << 30, KINDS[0], "a samsung-evo-plus-32gb has at most 34359738368"),
    ],
)
def test_a_file_that_is_no_card_is_refused(path: Path, size: int, kind: str, said: str) -> None:
    with path.open("wb") as file:
        file.truncate(size)
    with pytest.raises(BoardUnavailable, match=said):
        CardImage(SdCard(kind=kind), path)
    assert path.stat().st_size == size


def test_a_folder_and_a_second_board_are_refused(path: Path) -> None:
    with pytest.raises(BoardUnavailable, match="is not a file"):
        CardImage(SdCard(), path.parent)
    first = CardImage(SdCard(kind="memorex-2gb"), path)
    with pytest.raises(BoardUnavailable, match="another board that runs has it"):
        CardImage(SdCard(kind="memorex-2gb"), path)
    first.close()
    CardImage(SdCard(kind="memorex-2gb"), path).close()


def test_a_full_card_has_a_file_and_little_room(path: Path) -> None:
    CardImage(SdCard(kind="memorex-2gb", state="full"), path).close()
    listing = mtools("mdir", "-i", path, "::")
    assert "FULL     BIN" in listing and "65 536 bytes free" in listing


def test_a_card_stays_through_power_cycles_and_is_new_for_a_measured_run() -> None:
    slot = CardSlot(PICO)
    card = SdCard(kind="memorex-2gb")
    medium = slot.settings(card)["sd_card"]["medium"]
    assert slot.settings(card)["sd_card"]["medium"] is medium
    assert slot.settings(card, fresh=True)["sd_card"]["medium"] is not medium
    assert slot.settings(None) == {}


def test_a_board_without_a_socket_says_so() -> None:
    with pytest.raises(BoardUnavailable, match=r"RPI_PICO: has no socket for an SD card; add \[sd_card\] to its file"):
        CardSlot(replace(PICO, sd_card=None)).settings(SdCard())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"sd_card": {"kind": "floppy"}}', "floppy.*is not a card that is emulated; use one of samsung-evo-plus-32gb"),
        ('{"sd_card": {"state": "new"}}', "state"),
        ('{"sd_card": {"seed": -1}}', "seed"),
        ('{"sd_card": {"size": 1}}', "size"),
    ],
)
def test_settings_that_no_card_has_are_refused(text: str, said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        CONFIG.validate_json(text)


def test_counters_of_a_card_are_there_where_one_is() -> None:
    flash = flash_content(NATIVE_IMAGE)
    without = engine.Machine(engine.bootrom(), flash, EmulatedConfig().settings(PICO)).stats()
    with_card = engine.Machine(engine.bootrom(), flash, EmulatedConfig(sd_card=SdCard()).settings(PICO)).stats()
    assert not [name for name in without if name.startswith("sd_")]
    assert set(with_card) - set(without) >= {"sd_commands", "sd_read_blocks", "sd_write_clocked_us"}


def test_new_cards_of_a_kind_are_the_same() -> None:
    first, second = (new_medium(SdCard(kind="sandisk-16gb")) for _ in range(2))
    assert first.extents() == second.extents()
    assert all(first.read(*extent) == second.read(*extent) for extent in first.extents())
