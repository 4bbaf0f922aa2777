"""The faults of UF2 images, each with a code and one line."""

from enum import StrEnum

from portbench.errors import PortbenchError


class Fault(StrEnum):
    """A code for each kind of fault of an image."""

    UNREADABLE = "unreadable"
    EMPTY = "empty"
    TOO_LARGE = "too-large"
    NOT_UF2 = "not-uf2"
    TRUNCATED = "truncated"
    TRAILING = "trailing-bytes"
    MAGIC = "magic"
    FILE_CONTAINER = "file-container"
    NO_FAMILY = "no-family"
    WRONG_CHIP = "wrong-chip"
    SEVERAL_IMAGES = "several-images"
    PAYLOAD_SIZE = "payload-size"
    ALIGNMENT = "alignment"
    TARGET_RANGE = "target-range"
    MIXED_TARGETS = "mixed-targets"
    BLOCK_NUMBER = "block-number"
    BLOCK_COUNT = "block-count"
    DUPLICATE = "duplicate"
    OVERLAP = "overlap"
    MISSING = "missing-blocks"
    EXTENSION = "extension-tags"
    MD5 = "md5"
    NO_CONTENT = "no-content"
    RAM_IMAGE = "ram-image"


class Uf2Error(PortbenchError):
    """One fault of an image: `fault` is its code, `str()` one line with file, block index, value and fix.

    `families`: of an image for another chip, the families that it is for.
    """

    def __init__(
        self, fault: Fault, file: str, problem: str, fix: str, block: int | None = None, families: tuple[int, ...] = ()
    ) -> None:
        self.fault = fault
        self.families = families
        self.file = file
        self.block = block
        where = file if block is None else f"{file}: block {block}"
        super().__init__(f"{where}: {problem}; {fix}")
