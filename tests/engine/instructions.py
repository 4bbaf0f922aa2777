"""Random ARMv6-M instructions, none of them UNPREDICTABLE (ARMv6-M Architecture Reference Manual, chapter A6)."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Final

NEAR_HALFWORDS: Final = 40
"""Greatest distance of a branch."""


@dataclass(frozen=True, eq=False)
class Encoding:
    """One encoding. In `pattern` 0 and 1 are fixed; anything else is a field, filled at random."""

    name: str
    pattern: str
    weight: int = 10
    valid: Callable[[int], bool] = lambda _: True

    @cached_property
    def mask(self) -> int:
        return int("".join("1" if c in "01" else "0" for c in self.pattern), 2)

    @cached_property
    def value(self) -> int:
        return int("".join(c if c in "01" else "0" for c in self.pattern), 2)

    @cached_property
    def is_wide(self) -> bool:
        return len(self.pattern) == 32

    def random(self, rng: random.Random, tame: bool = False) -> int:
        """`tame`: results go to R0 to R3 and addresses come from R4 to R7, so that a program lives longer."""
        while True:
            word = self.value | (rng.getrandbits(len(self.pattern)) & ~self.mask)
            if tame:
                word = self._tamed(word)
            if self.valid(word):
                return word

    def _tamed(self, word: int) -> int:
        if self.is_wide:
            return word
        memory = self.name.startswith(("LDR", "STR", "LDM", "STM"))
        for i, letter in enumerate(self.pattern):
            top_of_field = self.pattern.find(letter) == i and self.pattern.count(letter) == 3
            bit = 1 << (len(self.pattern) - 1 - i)
            if top_of_field and (letter in "dt" or (memory and letter == "m")):
                word &= ~bit
            elif top_of_field and memory and letter == "n":
                word |= bit
        return word & ~0xF0 if self.name in ("LDM", "POP", "POP (PC)") else word


def _rd_hi(word: int) -> int:
    return (word >> 4 & 8) | (word & 7)


def _rm_hi(word: int) -> int:
    return word >> 3 & 15


def _two_operands_valid(word: int) -> bool:
    # SP and PC as targets are rare, or the program soon has neither a stack nor a way back.
    return _rd_hi(word) not in (13, 15)


def _compare_valid(word: int) -> bool:
    return 15 not in (_rd_hi(word), _rm_hi(word)) and (_rd_hi(word) > 7 or _rm_hi(word) > 7)


def _near(bits: int) -> Callable[[int], bool]:
    def valid(word: int) -> bool:
        offset = word & (1 << bits) - 1
        offset -= (offset >> bits - 1) << bits
        return abs(offset) <= NEAR_HALFWORDS

    return valid


def _store_multiple_valid(word: int) -> bool:
    # A base that is in the list but not its lowest register is stored as UNKNOWN.
    registers, base = word & 0xFF, word >> 8 & 7
    return registers != 0 and (not registers >> base & 1 or registers & (1 << base) - 1 == 0)


def _mrs_valid(word: int) -> bool:
    return word & 0xFF != 4 and word >> 8 & 15 not in (13, 15)


def _msr_valid(word: int) -> bool:
    return word & 0xFF != 4 and word >> 16 & 15 not in (13, 15)


_DATA_PROCESSING: Final = [
    "ANDS",
    "EORS",
    "LSLS",
    "LSRS",
    "ASRS",
    "ADCS",
    "SBCS",
    "RORS",
    "TST",
    "RSBS",
    "CMP",
    "CMN",
    "ORRS",
    "MULS",
    "BICS",
    "MVNS",
]
_REGISTER_OFFSET: Final = ["STR", "STRH", "STRB", "LDRSB", "LDR", "LDRH", "LDRB", "LDRSH"]

ENCODINGS: Final = [
    Encoding("LSLS (immediate)", "00000iiiiimmmddd"),
    Encoding("LSRS (immediate)", "00001iiiiimmmddd"),
    Encoding("ASRS (immediate)", "00010iiiiimmmddd"),
    Encoding("ADDS (register)", "0001100mmmnnnddd"),
    Encoding("SUBS (register)", "0001101mmmnnnddd"),
    Encoding("ADDS (3 bits)", "0001110iiinnnddd"),
    Encoding("SUBS (3 bits)", "0001111iiinnnddd"),
    Encoding("MOVS (immediate)", "00100dddiiiiiiii"),
    Encoding("CMP (immediate)", "00101nnniiiiiiii"),
    Encoding("ADDS (8 bits)", "00110dddiiiiiiii", 3),
    Encoding("SUBS (8 bits)", "00111dddiiiiiiii", 3),
    *[Encoding(f"{name} (registers)", f"010000{i:04b}mmmddd") for i, name in enumerate(_DATA_PROCESSING)],
    Encoding("ADD (any)", "01000100dmmmmddd", 10, _two_operands_valid),
    Encoding("CMP (any)", "01000101nmmmmnnn", 10, _compare_valid),
    Encoding("MOV (any)", "01000110dmmmmddd", 10, _two_operands_valid),
    Encoding("ADD (to SP)", "010001001mmmm101", 1, lambda w: _rm_hi(w) != 15),
    Encoding("MOV (to SP)", "010001101mmmm101", 1, lambda w: _rm_hi(w) != 15),
    Encoding("MOV (to PC)", "010001101mmmm111", 1, lambda w: _rm_hi(w) != 15),
    Encoding("ADD (to PC)", "010001001mmmm111", 1, lambda w: _rm_hi(w) != 15),
    Encoding("BX", "010001110mmmm000", 1, lambda w: _rm_hi(w) != 15),
    Encoding("BLX", "010001111mmmm000", 1, lambda w: _rm_hi(w) not in (14, 15)),
    Encoding("BLX (LR)", "0100011111110000", 1),
    Encoding("LDR (literal)", "01001dddiiiiiiii", 6),
    *[Encoding(f"{name} (register)", f"0101{i:03b}mmmnnnttt", 1) for i, name in enumerate(_REGISTER_OFFSET)],
    Encoding("STR (immediate)", "01100iiiiinnnttt"),
    Encoding("LDR (immediate)", "01101iiiiinnnttt"),
    Encoding("STRB (immediate)", "01110iiiiinnnttt"),
    Encoding("LDRB (immediate)", "01111iiiiinnnttt"),
    Encoding("STRH (immediate)", "10000iiiiinnnttt"),
    Encoding("LDRH (immediate)", "10001iiiiinnnttt"),
    Encoding("STR (SP)", "10010tttiiiiiiii"),
    Encoding("LDR (SP)", "10011tttiiiiiiii"),
    Encoding("ADR", "10100dddiiiiiiii"),
    Encoding("ADD (SP plus immediate)", "10101dddiiiiiiii"),
    Encoding("ADD (SP)", "101100000iiiiiii", 1),
    Encoding("SUB (SP)", "101100001iiiiiii", 1),
    Encoding("SXTH", "1011001000mmmddd"),
    Encoding("SXTB", "1011001001mmmddd"),
    Encoding("UXTH", "1011001010mmmddd"),
    Encoding("UXTB", "1011001011mmmddd"),
    Encoding("PUSH", "1011010llllllll l".replace(" ", ""), 10, lambda w: w & 0x1FF != 0),
    Encoding("POP", "10111100llllllll", 10, lambda w: w & 0xFF != 0),
    Encoding("POP (PC)", "10111101llllllll", 1),
    Encoding("CPS", "10110110011i0010", 1),
    Encoding("REV", "1011101000mmmddd"),
    Encoding("REV16", "1011101001mmmddd"),
    Encoding("REVSH", "1011101011mmmddd"),
    Encoding("hint", "10111111hhhh0000", 4, lambda w: w >> 4 & 15 not in (2, 3)),
    Encoding("STM", "11000nnnllllllll", 10, _store_multiple_valid),
    Encoding("LDM", "11001nnnllllllll", 10, lambda w: w & 0xFF != 0),
    Encoding("B (condition)", "1101cccciiiiiiii", 60, lambda w: w >> 8 & 15 < 14 and _near(8)(w)),
    Encoding("B", "11100iiiiiiiiiii", 8, _near(11)),
    Encoding("BL (forward)", "11110000000000001111100000iiiiii", 5),
    Encoding("BL (backward)", "11110111111111111111111111iiiiii", 5),
    Encoding("MSR (APSR)", "111100111000nnnn1000100000000000", 3, _msr_valid),
    Encoding("MSR (PRIMASK)", "111100111000nnnn1000100000010000", 3, _msr_valid),
    Encoding("MSR (other)", "111100111000nnnn1000100000000sss", 3, _msr_valid),
    Encoding("MSR (PSP)", "111100111000000n1000100000001001", 1),
    Encoding("MSR (CONTROL)", "1111001110000nnn1000100000010100", 1),
    Encoding("MRS (APSR)", "11110011111011111000dddd00000000", 3, _mrs_valid),
    Encoding("MRS (other)", "11110011111011111000dddd00000sss", 3, _mrs_valid),
    Encoding("MRS (MSP, PSP)", "11110011111011111000dddd0000100s", 3, _mrs_valid),
    Encoding("MRS (PRIMASK)", "11110011111011111000dddd00010000", 3, _mrs_valid),
    Encoding("MRS (CONTROL)", "11110011111011111000dddd00010100", 3, _mrs_valid),
    Encoding("DSB", "1111001110111111100011110100oooo", 1),
    Encoding("DMB", "1111001110111111100011110101oooo", 1),
    Encoding("ISB", "1111001110111111100011110110oooo", 1),
]

FAULTING: Final = [
    Encoding("SVC", "11011111iiiiiiii", 2),
    Encoding("BKPT", "10111110iiiiiiii", 1),
    Encoding("UDF", "11011110iiiiiiii", 1),
    Encoding("undefined 32 bits", "11101iiiiiiiiiiiiiiiiiiiiiiiiiii", 1),
    Encoding("undefined 16 bits", "10110001iiiiiiii", 1),
]

_NARROW: Final = [e for e in [*ENCODINGS, *FAULTING] if not e.is_wide]
_WIDE: Final = [e for e in [*ENCODINGS, *FAULTING] if e.is_wide]


def halfwords(encoding: Encoding, word: int) -> list[int]:
    """The instruction as memory holds it."""
    return [word >> 16, word & 0xFFFF] if encoding.is_wide else [word]


def identify(first: int, second: int) -> Encoding | None:
    """The encoding of the instruction `first`, of which `second` may be a part; None if it is none of ours."""
    word = first << 16 | second
    for encoding in _WIDE:
        if word & encoding.mask == encoding.value and encoding.valid(word):
            return encoding
    for encoding in _NARROW:
        if first & encoding.mask == encoding.value and encoding.valid(first):
            return encoding
    return None


def pool(rng: random.Random, size: int) -> list[list[int]]:
    """`size` random instructions, as lists of halfwords; about one in 200 faults."""
    ordinary = rng.choices(ENCODINGS, [e.weight for e in ENCODINGS], k=size)
    encodings = [rng.choice(FAULTING) if rng.random() < 0.005 else encoding for encoding in ordinary]
    return [halfwords(encoding, encoding.random(rng, tame=rng.random() < 0.97)) for encoding in encodings]
