"""Guests assembled by hand, for what needs a program on the board and no more than that."""

import struct
from typing import Final

from portbench.firmware.uf2 import flash_content
from tests.ping_pong import NATIVE_IMAGE

FLASH: Final = 0x1000_0000
FLASH_BYTES: Final = 2 << 20
PROGRAM: Final = FLASH + 0x200
_STACK: Final = 0x2004_0000
_RESETS_CLEAR: Final = 0x4000_F000
_CLK_PERI_CTRL: Final = 0x4000_8048
_GPIO_CTRL: Final = 0x4001_4004
_UART: Final = (0x4003_4000, 0x4003_8000)

CHARACTER_US: Final = 10 * 16 * (3 + 34 / 64) / 6.5
"""Time of one character of the echo: near 115200 baud, from ROSC's 6.5 MHz."""


def flash(program: list[int], words: list[int]) -> bytes:
    """The whole flash: our boot stage 2, a vector table, `program`, and from the next 128 bytes on, `words`."""
    boot2 = flash_content(NATIVE_IMAGE)[:256]
    vectors = struct.pack("<48I", _STACK, PROGRAM | 1, *[PROGRAM | 1] * 46).ljust(0x100, b"\xff")
    code = struct.pack(f"<{len(program)}H", *program).ljust(0x80, b"\xff")
    return (boot2 + vectors + code + struct.pack(f"<{len(words)}I", *words)).ljust(FLASH_BYTES, b"\xff")


def _uart(uart: int, tx: int, rx: int) -> list[tuple[int, int]]:
    base = _UART[uart]
    return [
        (_RESETS_CLEAR, 0x01FF_FFFF),
        (_CLK_PERI_CTRL, 1 << 11),
        *((_GPIO_CTRL + 8 * pin, 2) for pin in (tx, rx)),
        (base + 0x24, 3),
        (base + 0x28, 34),
        (base + 0x2C, 0x70),
        (base + 0x30, 0x301),
    ]


_POKES: Final = (
    0x4809,  # LDR R0, =the pokes
    0xC806,  # LDMIA R0!, {R1, R2}
    0x2900,  # CMP R1, #0
    0xD001,  # BEQ over the next two
    0x600A,  # STR R2, [R1]
    0xE7FA,  # B to LDMIA
    0x4907,  # LDR R1, =the peripheral
)


def _poked(pokes: list[tuple[int, int]], then: list[int], *literals: int) -> bytes:
    """Writes `pokes` to registers, then goes on with `literals`, the first of which is the peripheral in R1."""
    program = [*_POKES, *then]
    program += [0xBF00] * (20 - len(program))
    for literal in (PROGRAM + 0x80, *literals):
        program += [literal & 0xFFFF, literal >> 16]
    return flash(program, [word for poke in pokes for word in poke] + [0, 0])


def pump(pokes: list[tuple[int, int]], base: int, flags: int, mask: int, data: int) -> bytes:
    """Writes `pokes` to registers, then sends each byte of the peripheral at `base` on by UART0, GP0.

    It has one while its register at `flags` has a bit of `mask`; `data` is the register to read it from.
    """
    sends = [
        0x4C08,  # LDR R4, =the UART
        0x4B08,  # LDR R3, =mask
        0x680A | flags << 4,  # LDR R2, [R1, #flags]
        0x421A,  # TST R2, R3
        0xD0FC,  # BEQ to LDR flags
        0x680A | data << 4,  # LDR R2, [R1, #data]
        0x6022,  # STR R2, [R4]
        0xE7F9,  # B to LDR flags
    ]
    return _poked([*_uart(0, 0, 1), *pokes], sends, base, _UART[0], mask)


def poking(
    *pokes: tuple[int, int],
    then: tuple[int, ...] = (0xE7FE, 0xBF00),
    resets: int = _RESETS_CLEAR,
    blocks: int = 0x01FF_FFFF,
) -> tuple[int, ...]:
    """Return a program that takes all blocks out of reset, writes each value to its address, and stands still.

    `then`: it does this instead, an even number of halfwords. `resets`: the address at which bits of RESET are cleared.
    """
    words = [word for poke in ((resets, blocks), *pokes, (0, 0)) for word in poke]
    return (
        0xA002 + len(then) // 2,  # ADR R0, the pokes
        0xC806,  # LDMIA R0!, {R1, R2}
        0x2900,  # CMP R1, #0
        0xD001,  # BEQ over the next two
        0x600A,  # STR R2, [R1]
        0xE7FA,  # B to LDMIA
        *then,
        *struct.unpack(f"<{2 * len(words)}H", struct.pack(f"<{len(words)}I", *words)),
    )


_TO_USB: Final = (
    (0x5011_0040, 1),  # MAIN_CTRL: the controller is on
    (0x5011_0074, 9),  # USB_MUXING: its PHY
    (0x5011_004C, 1 << 16),  # SIE_CTRL: the pull-up
)
NEVER_ANSWERS_USB: Final = poking(*_TO_USB)
"""Attaches to USB without a clock there, and answers nothing."""
GP25_DRIVEN: Final = ((0x4001_40CC, 5), (0xD000_0024, 1 << 25))
"""Its function, SIO, and its output."""
NAKS_FOR_EVER: Final = poking(*GP25_DRIVEN, (0x4000_8054, 1 << 11 | 2 << 5), *_TO_USB)
"""Drives its LED, attaches to USB with clk_usb on, and never serves a request: its controller answers NAK."""


def erases_itself() -> tuple[int, ...]:
    """Return a program that erases the first sector of flash from SRAM by the ROM's functions, and stands still."""
    literals = [*(ord(one) | ord(two) << 8 for one, two in ("IF", "EX", "RE")), 0, 4096, 65536]
    code = [
        0x2000,  # MOVS R0, #0
        0x8B05,  # LDRH R5, [R0, #0x18]: rom_table_lookup
        0x8A86,  # LDRH R6, [R0, #0x14]: its table
        *(0x4630, 0x4900, 0x47A8, 0x4780),  # MOV R0, R6; LDR R1, =IF; BLX R5; BLX R0
        *(0x4630, 0x4901, 0x47A8, 0x4780),  # the same with EX
        *(0x4630, 0x4902, 0x47A8, 0x4604),  # with RE; MOV R4, R0
        *(0x4803, 0x4904, 0x4A05, 0x23D8),  # LDR R0, =0; LDR R1, =4096; LDR R2, =65536; MOVS R3, #0xD8
        *(0x47A0, 0xE7FE, 0xBF00),  # BLX R4; B .
    ]
    for at, instruction in enumerate(code):
        if instruction >> 11 == 0b01001:  # LDR, whose low byte is the number of the literal so far
            code[at] += (2 * len(code) - (2 * at + 4 & ~3)) // 4
    return (
        *(0xA005, 0x2120, 0x0609, 0x2200),  # ADR R0, the code; MOVS R1, #0x20; LSLS R1, #24; MOVS R2, #0
        *(0x5883, 0x508B, 0x3204, 0x2A50, 0xD1FA),  # LDR R3, [R0, R2]; STR R3, [R1, R2]; ADDS; CMP R2, #80; BNE
        *(0x3101, 0x4708, 0xBF00),  # ADDS R1, #1; BX R1
        *code,
        *(half for literal in literals for half in (literal & 0xFFFF, literal >> 16)),
    )


def uart_says(text: bytes) -> bytes:
    """The flash up to the end of a program that sends up to 32 characters by UART0, as many as its FIFO takes."""
    return pump([(_UART[0], character) for character in text], _UART[0], 0x18, 0, 0).rstrip(b"\xff")


def i2c_transfers(address: int, commands: list[int], sda: int = 4, scl: int = 5) -> bytes:
    """I2C0 with up to 16 entries of IC_DATA_CMD: bytes, `I2C_READ`, with `I2C_RESTART` and `I2C_STOP`."""
    base = 0x4004_4000
    setup = [(0x00, 0x165), (0x1C, 20), (0x20, 40), (0xA0, 1), (0x04, address), (0x6C, 1)]
    pokes = [(_GPIO_CTRL + 8 * pin, 3) for pin in (sda, scl)]
    pokes += [(base + offset, value) for offset, value in setup]
    return pump([*pokes, *((base + 0x10, command) for command in commands)], base, 0x78, 0x1F, 0x10)


I2C_READ: Final = 1 << 8
I2C_STOP: Final = 1 << 9
I2C_RESTART: Final = 1 << 10


def spi_frame(mosi: bytes, sck: int = 2, tx: int = 3, rx: int = 4, csn: int = 5) -> bytes:
    """One frame of up to 8 bytes on SPI0, with chip select by GPIO."""
    base, sio, none = 0x4003_C000, 0xD000_0000, 0x4000_C000  # the last one is the vendor's id in SYSINFO
    pokes = [(_GPIO_CTRL + 8 * pin, 1) for pin in (sck, tx, rx)] + [(_GPIO_CTRL + 8 * csn, 5)]
    pokes += [(sio + 0x14, 1 << csn), (sio + 0x24, 1 << csn), (sio + 0x18, 1 << csn)]
    pokes += [(base + 0x10, 2), (base + 0x00, 7), (base + 0x04, 2)]
    pokes += [(base + 0x08, byte) for byte in mosi]
    until_sent = [(none, 0)] * (8 * len(mosi))
    return pump([*pokes, *until_sent, (sio + 0x14, 1 << csn)], base, 0x0C, 4, 0x08)


def uart_echo(uart: int = 0, tx: int = 0, rx: int = 1) -> bytes:
    """Sends each character that comes back, plus one."""
    answers = [
        0x2310,  # MOVS R3, #RXFE
        0x698A,  # LDR R2, [R1, #FR]
        0x421A,  # TST R2, R3
        0xD1FC,  # BNE to LDR FR
        0x680A,  # LDR R2, [R1]
        0x3201,  # ADDS R2, #1
        0x600A,  # STR R2, [R1]
        0xE7F8,  # B to LDR FR
    ]
    return _poked(_uart(uart, tx, rx), answers, _UART[uart])
