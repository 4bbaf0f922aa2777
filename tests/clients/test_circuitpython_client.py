"""clients/circuitpython/, connected, on faked modules: waits, and their ends."""

from dataclasses import replace

from portbench.clients import ClientNetwork

from .conftest import ClientRunner


def test_waits_for_link_lease_server_and_console(client: ClientRunner, network: ClientNetwork) -> None:
    run = client.circuitpython(
        network, link_after_looks=5, leases_refused=2, connect_errors=["refused", "refused"], console_after_looks=5
    )
    assert "error" not in run.result, run.lines
    assert run.result["link_us"] >= 25_000  # five polls of 5 ms
    assert run.result["connect_attempts"] == 3


def test_a_link_that_never_comes_ends_at_the_deadline(client: ClientRunner, network: ClientNetwork) -> None:
    run = client.circuitpython(replace(network, ready_timeout_s=0.05), link_after_looks=10**9)
    assert run.result["stage"] == "link" and "not ready within 0.05 s" in run.result["error"]


def test_prints_at_last_though_no_console_ever_opens(client: ClientRunner, network: ClientNetwork) -> None:
    run = client.circuitpython(replace(network, ready_timeout_s=0.05), console_after_looks=10**9)
    assert run.result["messages"] == 50
