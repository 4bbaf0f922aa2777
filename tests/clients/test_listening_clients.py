"""The scripts that listen, on a faked network."""

import json
from dataclasses import replace

import pytest

from portbench.clients import ClientNetwork
from portbench.server.calls import parse_listening
from tests.workloads.conftest import own_workloads as own_workloads

from .conftest import STATIC, ClientRunner


@pytest.mark.usefixtures("own_workloads")
def test_says_where_it_listens_before_it_serves(client: ClientRunner, network: ClientNetwork) -> None:
    run = client.micropython_listening(replace(network, server=None, port=80))
    assert "error" not in run.result, run.lines
    assert run.recorded("bind") == [["", 80]] and len(run.recorded("listen")) == 1
    assert run.result["echoed_bytes"] == [8, 8] and run.result["ready_us"] > run.result["link_us"]
    said = [line for line in run.lines if not line.startswith("FAKE ")]
    assert len(said) == 2 and str(parse_listening(said[0])) == "192.168.1.20:80"
    assert run.lines.index(said[0]) < next(i for i, line in enumerate(run.lines) if "question" in line)


@pytest.mark.usefixtures("own_workloads")
def test_listens_at_a_static_address(client: ClientRunner, network: ClientNetwork) -> None:
    run = client.micropython_listening(replace(network, server=None, address_mode="static", static=STATIC))
    assert run.recorded("ifconfig") == [["192.168.1.20", "255.255.255.0", "192.168.1.1", "8.8.8.8"]]
    config = json.loads((client.folder / "portbench_config.json").read_text())
    assert "server" not in config and config["port"] == 5000


@pytest.mark.usefixtures("own_workloads")
def test_a_link_that_never_comes_is_never_listened_on(client: ClientRunner, network: ClientNetwork) -> None:
    run = client.micropython_listening(replace(network, server=None), link_at_us=10**12)
    assert run.result["stage"] == "link" and run.recorded("listen") == []
    assert not any(parse_listening(line) for line in run.lines)
