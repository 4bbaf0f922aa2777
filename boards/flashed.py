"""Checks of a flashed image, the same for all kinds of boards: it fits the chip, and what starts is what it names."""

from portbench.boards.definition import BoardDefinition, UsbId, board_of_machine, refusal
from portbench.errors import BoardError, Unsupported
from portbench.firmware import uf2
from portbench.firmware.identify import Identity, Uf2File


def check_fits(name: str, definition: BoardDefinition, image: Uf2File) -> uf2.Uf2Image:
    """Return the content of a UF2 image. Raises BoardError if the board `name` does not take the image."""
    try:
        image.check_fits(definition.uf2_family, definition.flash_bytes)
    except uf2.Uf2Error as error:
        raise BoardError(f"{name}: {refusal(error)}") from error
    assert image.content is not None  # or it would not fit
    return image.content


def fitting(definition: BoardDefinition, data: bytes, name: str) -> uf2.Uf2Image:
    """Read the UF2 image `data` of the file `name`. Raises BoardError if the board does not take it."""
    try:
        return uf2.parse(data, name, family_id=definition.uf2_family, flash_size_bytes=definition.flash_bytes)
    except uf2.Uf2Error as error:
        raise BoardError(refusal(error)) from error


def usb_id(definition: BoardDefinition, identity: Identity) -> UsbId | None:
    """Return the image's device on USB; None for an image without USB."""
    ids = definition.usb
    known = {"micropython": ids.micropython, "wiznet": ids.micropython, "circuitpython": ids.circuitpython}
    return known.get(str(identity.family))


def check_started(name: str, definition: BoardDefinition, image: Uf2File, found: UsbId | None) -> None:
    """Raise BoardError unless `found`, the device on USB after flashing, is the one that the image names."""
    identity, file, expected = image.identity, image.path.name, usb_id(definition, image.identity)
    if found == definition.usb.bootloader:
        raise BoardError(f"{name}: after {file} was programmed the boot loader came back, not {identity.family}")
    if found == expected:
        return
    if identity.machine is not None and board_of_machine(identity.machine) is None:
        raise Unsupported(
            f"{file} is for {identity.machine}, and {found} came back on USB: no definition of a board"
            " names it; add one: docs/adding-a-board.md"
        )
    raise BoardError(f"{name}: {file} is {identity.family} and should be USB {expected}, but {found} came back")
