"""The line that is shown is the line that a board runs."""

import ast
from dataclasses import replace

import pytest

from portbench.boards import board_definition
from portbench.clients import FAMILIES, nic_line
from portbench.errors import PortbenchError
from portbench.workloads import Readiness

BOARD = board_definition("W5500_EVB_PICO")
assert BOARD.network is not None
SPI = BOARD.network
HZ = 2_000_000


@pytest.mark.parametrize("family", ["micropython", "wiznet", "circuitpython", "blinka"])
@pytest.mark.parametrize("spi_hz", [None, HZ, 20_000_000])
@pytest.mark.parametrize("intn", [True, False])
def test_the_line_is_python_of_names_that_the_client_has(family: str, spi_hz: int | None, intn: bool) -> None:
    line = nic_line(family, BOARD, spi_hz=spi_hz, intn=intn)
    assert line is not None
    used = {node.id for node in ast.walk(ast.parse(line)) if isinstance(node, ast.Name)}
    client = ast.parse(FAMILIES[family].parts(Readiness.CONNECTED, BOARD)["get_address"].read_text())
    imports = (node for node in ast.walk(client) if isinstance(node, ast.Import | ast.ImportFrom))
    assert used <= {alias.name for node in imports for alias in node.names}
    if spi_hz is not None:
        assert f"{spi_hz:_}" in line


def test_only_lwip_takes_the_intn_pin() -> None:
    assert str(nic_line("micropython", BOARD, spi_hz=HZ, intn=True)).endswith(
        f"Pin({SPI.rstn_pin}), Pin({SPI.intn_pin}))"
    )
    assert nic_line("wiznet", BOARD, spi_hz=HZ, intn=True) == nic_line("wiznet", BOARD, spi_hz=HZ, intn=False)
    assert nic_line("micropython", BOARD, spi_hz=None, intn=True) == "network.WIZNET5K()"
    assert f"SPI({SPI.spi_id}, {SPI.default_hz:_}," in str(nic_line("wiznet", BOARD, spi_hz=None, intn=True))


def test_a_port_with_the_pcs_network_has_no_line() -> None:
    assert nic_line("hosted", BOARD, spi_hz=None, intn=True) is None


def test_another_board_has_other_pins_and_one_without_a_network_has_none() -> None:
    other = replace(BOARD, network=replace(SPI, bus="spi1", sck_pin=10, default_hz=1_000_000), sd_card=None)
    assert "SPI(1, 1_000_000, " in str(nic_line("wiznet", other, spi_hz=None, intn=True))
    assert "sck=Pin(10)" in str(nic_line("wiznet", other, spi_hz=HZ, intn=True))
    with pytest.raises(PortbenchError, match=r"^RPI_PICO: has no network, which a client needs to be connected$"):
        nic_line("micropython", board_definition("RPI_PICO"), spi_hz=HZ, intn=True)
