"""UF2 family ids and the chips they stand for.

Source: `utils/uf2families.json` of the UF2 specification's repository (microsoft/uf2); for the Raspberry Pi chips,
`boot_uf2_headers/include/boot/uf2.h` of the Pico SDK; for those of Beken, Realtek and Bouffalo Lab, the table of
supported families of LibreTiny.
"""

from dataclasses import dataclass
from typing import Final

RP2040: Final = 0xE48BFF56
RP2350: Final = 0xE48BFF59
"""Arm code in Secure state."""
RP2350_RISCV: Final = 0xE48BFF5A
"""Code for the Hazard3 cores of the same chip."""
RP2350_ABSOLUTE: Final = 0xE48BFF57
"""Content for its flash, whatever partitions are there."""


@dataclass(frozen=True)
class BootLoader:
    """Targets that one microcontroller's UF2 boot loader accepts, beside flash from 0x10000000 on."""

    mcu: str
    """Name as board definitions state it."""
    ram: tuple[tuple[int, int], ...]
    """Start and end of the memories that an image may be loaded into: the flash cache as SRAM; all SRAM."""
    usual_flash_bytes: int
    """The flash of the makers' own boards."""
    skipped: tuple[int, int] | None = None
    """Family and address of a block that is not written."""


# The block that works around erratum RP2350-E10 is in all files of the Pico SDK.
_RP2350: Final = BootLoader(
    "RP2350", ((0x13FF_C000, 0x1400_0000), (0x2000_0000, 0x2008_2000)), 4 << 20, (RP2350_ABSOLUTE, 0x10FF_FF00)
)

BOOT_LOADERS: Final[dict[int, BootLoader]] = {
    RP2040: BootLoader("RP2040", ((0x1500_0000, 0x1500_4000), (0x2000_0000, 0x2004_2000)), 2 << 20),
    RP2350: _RP2350,
    RP2350_RISCV: _RP2350,
    RP2350_ABSOLUTE: _RP2350,
}
"""By the family of the images. Sources: RP2040 datasheet 2.8.4.2; RP2350 datasheet 2.2, 5.5.2, 5.5.3, erratum
RP2350-E10."""

CHIPS: Final[dict[int, str]] = {
    0x00FF6919: "STM32L4",
    0x04240BDF: "STM32L5",
    0x11DE784A: "BL702 (M0SENSE)",
    0x16573617: "ATmega32",
    0x1851780A: "SAML21",
    0x1B57745F: "nRF52",
    0x1C5F21B0: "ESP32",
    0x1E1F432D: "STM32L1",
    0x202E3A91: "STM32L0",
    0x21460FF0: "STM32WL",
    0x22E0D6FC: "RTL8710B",
    0x2ABC77EC: "LPC55",
    0x2B88D29C: "ESP32-C2",
    0x300F5633: "STM32G0",
    0x31D228C6: "GD32F350",
    0x332726F6: "ESP32-H2",
    0x3379CFE2: "RTL8720D",
    0x3D308E94: "ESP32-P4",
    0x4B684D71: "BL618 (MaixPlay-U4)",
    0x4C71240A: "STM32G4",
    0x4F6ACE52: "CSK4",
    0x4FB2D5BD: "i.MX RT10xx",
    0x53B80F00: "STM32F7",
    0x540DDF62: "ESP32-C6",
    0x55114460: "SAMD51",
    0x57755A57: "STM32F4",
    0x5A18069B: "Cypress FX2",
    0x5D1A0A2E: "STM32F2",
    0x5EE21072: "STM32F1",
    0x621E937A: "nRF52833",
    0x647824B6: "STM32F0",
    0x675A40B0: "BK7231U",
    0x68ED2B88: "SAMD21",
    0x6A82CC42: "BK7251",
    0x6B846188: "STM32F3",
    0x6D0922FA: "STM32F407",
    0x6DB66082: "STM32H7",
    0x6E7348A8: "CSK6",
    0x70D16653: "STM32WB",
    0x7B3EF230: "BK7231N",
    0x7EAB61ED: "ESP8266",
    0x7F83E793: "KL32L2",
    0x8FB060FE: "STM32F407VG",
    0x9517422F: "RZ/A1LU",
    0x9AF03E33: "GD32VF103",
    0x9FFFD543: "RTL8710A",
    0xADA52840: "nRF52840",
    0xBFDD4EEE: "ESP32-S2",
    0xC47E5767: "ESP32-S3",
    0xD42BA06C: "ESP32-C3",
    0xDE1270B7: "BL60X",
    0xE08F7564: "RTL8720C",
    0xE48BFF55: "CYW43 (Wi-Fi firmware)",
    RP2040: "RP2040",
    RP2350_ABSOLUTE: "RP2350 (absolute)",
    0xE48BFF58: "RP2350 (data)",
    RP2350: "RP2350 (Arm secure)",
    RP2350_RISCV: "RP2350 (RISC-V)",
    0xE48BFF5B: "RP2350 (Arm non-secure)",
}


def chip_name(family_id: int) -> str:
    """Name of the chip that `family_id` stands for, or the bare id when it is in no public list."""
    return CHIPS.get(family_id, f"unknown family 0x{family_id:08X}")


def taken_with(family_id: int) -> tuple[int, ...]:
    """The families that a board for images of `family_id` takes: those of the same chip, that one first."""
    loader = BOOT_LOADERS.get(family_id)
    others = (each for each, its in BOOT_LOADERS.items() if its is loader and each != family_id)
    return (family_id, *others)
