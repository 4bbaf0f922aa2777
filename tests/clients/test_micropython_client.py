"""clients/micropython/, connected, under the unix port: readiness, errors and figures, on a faked network."""

from dataclasses import replace

import pytest

from portbench.clients import ClientNetwork

from .conftest import STATIC, ClientRunner

HARDWIRED = {"lwip": False, "nic_arguments": [3]}


def test_measures_every_message(client: ClientRunner, network: ClientNetwork) -> None:
    run = client.micropython(network)
    assert "error" not in run.result, run.lines
    assert run.result["messages"] == 50
    assert len(run.result["round_trip_us"]) == 50
    assert all(1000 <= us < 1020 for us in run.result["round_trip_us"])  # the fake's send takes 1 ms
    assert sum(run.result["round_trip_us"]) <= run.result["total_us"] < 52_000
    assert run.result["connect_attempts"] == 1
    assert run.result["address"] == "192.168.1.20"
    assert run.recorded("connect") == [["192.168.1.247", 5000]]
    (line,) = [line for line in run.lines if not line.startswith("FAKE ")]
    assert line.startswith("PORTBENCH {")
    # The board's defaults, as tuned.
    assert run.recorded("nic") == [[]]
    assert run.result["intn"] is True
    assert run.result["spi_hz_asked"] is None and run.result["spi_hz_actual"] == 20_000_000


def test_as_published_takes_three_arguments(client: ClientRunner, network: ClientNetwork) -> None:
    run = client.micropython(replace(network, spi_hz=2_000_000, intn=False))
    assert run.recorded("nic") == [["spi", 17, 20]]
    assert run.result["intn"] is False and run.result["spi_hz_actual"] == 2_000_000


def test_spells_its_pins_out_where_the_build_has_no_defaults(client: ClientRunner, network: ClientNetwork) -> None:
    run = client.micropython(network, nic_arguments=[3, 4])
    assert run.recorded("nic") == [[], ["spi", 17, 20, 21]]
    assert run.result["intn"] is True


def test_reports_that_an_old_build_took_no_intn(client: ClientRunner, network: ClientNetwork) -> None:
    run = client.micropython(network, nic_arguments=[3])
    assert run.recorded("nic") == [[], ["spi", 17, 20, 21], ["spi", 17, 20]]
    assert run.result["intn"] is False and "total_us" in run.result


def test_hardwired_never_asks_for_intn_or_time_outs(client: ClientRunner, network: ClientNetwork) -> None:
    run = client.micropython(network, **HARDWIRED)
    assert run.recorded("nic") == [["spi", 17, 20]]
    assert run.result["intn"] is False and "total_us" in run.result


def test_waits_for_a_late_link(client: ClientRunner, network: ClientNetwork) -> None:
    run = client.micropython(network, link_at_us=2_500_000, **HARDWIRED)
    assert 2_500_000 <= run.result["link_us"] < 2_520_000
    assert run.result["ready_us"] > run.result["link_us"]
    assert run.result["connect_attempts"] == 1


def test_a_build_without_status_waits_in_dhcp(client: ClientRunner, network: ClientNetwork) -> None:
    run = client.micropython(network, link_at_us=2_500_000, has_status=False)
    assert "total_us" in run.result and run.result["ready_us"] > 10_000_000


def test_a_link_that_never_comes_ends_at_the_deadline(client: ClientRunner, network: ClientNetwork) -> None:
    run = client.micropython(network, link_at_us=10**12)
    assert run.result["stage"] == "link"
    assert run.result["error"] == "OSError('not ready within 20 s')"
    assert "total_us" not in run.result


def test_dhcp_is_tried_again(client: ClientRunner, network: ClientNetwork) -> None:
    run = client.micropython(network, leases_refused=1)
    assert "total_us" in run.result and run.recorded("ifconfig") == ["dhcp"]


def test_no_lease_at_all_ends_with_an_error(client: ClientRunner, network: ClientNetwork) -> None:
    run = client.micropython(network, leases_refused=1000)
    assert run.result["stage"] == "address" and "not ready within 20 s" in run.result["error"]


def test_static_address_asks_nobody(client: ClientRunner, network: ClientNetwork) -> None:
    run = client.micropython(replace(network, address_mode="static", static=STATIC))
    assert run.recorded("ifconfig") == [["192.168.1.20", "255.255.255.0", "192.168.1.1", "8.8.8.8"]]
    assert run.result["address_mode"] == "static"


@pytest.mark.parametrize("errno", [4, 13, 103, 104, 107, 110, 111, 113])
def test_connects_again_after(errno: int, client: ClientRunner, network: ClientNetwork) -> None:
    run = client.micropython(network, connect_errors=[errno, errno])
    assert run.result["connect_attempts"] == 3 and run.result["last_connect_error"] == errno
    assert "total_us" in run.result


def test_an_unreachable_server_ends_at_the_deadline(client: ClientRunner, network: ClientNetwork) -> None:
    run = client.micropython(network, connect_errors=[111], connect_errors_for_ever=True)
    assert run.result["stage"] == "connect" and "not ready within 20 s" in run.result["error"]
    assert run.result["last_connect_error"] == 111
    assert 10 < run.result["connect_attempts"] <= 17  # 1.2 s each within 20 s


def test_an_error_that_waiting_cannot_mend_ends_at_once(client: ClientRunner, network: ClientNetwork) -> None:
    run = client.micropython(network, connect_errors=[22])
    assert run.result["stage"] == "connect" and run.result["error"] == "OSError(22)"
    assert run.result["connect_attempts"] == 1


def test_numbers_may_come_in_pieces(client: ClientRunner, network: ClientNetwork) -> None:
    run = client.micropython(network, split=True)
    assert run.result["messages"] == 50


def test_a_wrong_answer_is_an_error(client: ClientRunner, network: ClientNetwork) -> None:
    run = client.micropython(network, wrong_answer_to=5)
    assert run.result["stage"] == "run" and "expected b'6', got b'7'" in run.result["error"]
    assert any("Traceback" in line for line in run.lines)


def test_a_server_that_goes_away_is_an_error(client: ClientRunner, network: ClientNetwork) -> None:
    run = client.micropython(network, close_after=5)
    assert run.result["stage"] == "run" and "the server closed the connection" in run.result["error"]
