"""Write the board's properties for the firmware as C: `board_header.py BOARD.toml OUTPUT.h`.

An unchanged header is not written again, so that make does not rebuild.
"""

import argparse
import sys
import tomllib
from pathlib import Path
from typing import Any, Final

NEEDS: Final = {"mcu": ("RP2040", "RP2350"), "network.chip": ("W5500",), "network.bus": ("spi0",)}
"""The board properties that the C sources need: one of these."""
FLASH_BYTES_MIN: Final = 2 << 20
"""The configuration block is in the last sector of these."""
PINS: Final = ("sck_pin", "mosi_pin", "miso_pin", "csn_pin", "rstn_pin", "intn_pin")
CARD_PINS: Final = ("sck_pin", "mosi_pin", "miso_pin", "csn_pin")


def header(board: dict[str, Any], file: Path) -> str:
    """The header for the board that `file` holds. Raises `ValueError` for one that the firmware cannot run on."""
    network = board.get("network", {})
    has = {"mcu": board.get("mcu"), "network.chip": network.get("chip"), "network.bus": network.get("bus")}
    for key, needed in NEEDS.items():
        if has[key] not in needed:
            wanted = " or ".join(map(repr, needed))
            raise ValueError(f"{file}: {key} is {has[key]!r}; the native firmware needs {wanted}")
    if board["flash_bytes"] < FLASH_BYTES_MIN:
        raise ValueError(f"{file}: flash_bytes is {board['flash_bytes']}; the native firmware needs {FLASH_BYTES_MIN}")
    lines = [f'#define MACHINE "{board["machine"]} with {board["mcu"]}"']
    lines += [f"#define PIN_{pin.removesuffix('_pin').upper()} {network[pin]}u" for pin in PINS]
    # The C sources use a card on SPI1 only.
    if (card := board.get("sd_card", {})).get("bus") == "spi1":
        lines += [f"#define PIN_SD_{pin.removesuffix('_pin').upper()} {card[pin]}u" for pin in CARD_PINS]
    guarded = ["#ifndef BOARD_PINS_H", "#define BOARD_PINS_H", "", *lines, "", "#endif"]
    return "\n".join([f"/* Of {file.name}, by board_header.py. */", *guarded]) + "\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("board", type=Path)
    parser.add_argument("output", type=Path)
    arguments = parser.parse_args()
    try:
        text = header(tomllib.loads(arguments.board.read_text(encoding="utf-8")), arguments.board)
    except tomllib.TOMLDecodeError as error:
        print(f"board_header.py: {arguments.board}: is not TOML ({error}); correct that line", file=sys.stderr)
        return 1
    except (OSError, ValueError) as error:
        print(f"board_header.py: {error}", file=sys.stderr)
        return 1
    except KeyError as error:
        print(f"board_header.py: {arguments.board}: {error.args[0]} is absent; add it", file=sys.stderr)
        return 1
    if not arguments.output.is_file() or arguments.output.read_text(encoding="utf-8") != text:
        arguments.output.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
