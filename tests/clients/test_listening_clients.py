"""The scripts that listen: on a faked network, and beside those that connect."""

from __future__ import annotations

import ast
import json
from dataclasses import replace
from pathlib import Path

import pytest

from portbench import clients
from portbench.clients import ClientNetwork
from portbench.server.listening import parse_listening
from tests.workloads.conftest import own_workloads as own_workloads

from .conftest import STATIC, ClientRunner

CLIENTS = Path(clients.__file__).parent
OWN = {"get_ready", "workload", "main", "connect", "listen", "socket_maker", "make_socket"}
"""What is another thing in either script."""


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


@pytest.mark.parametrize("folder", ["micropython", "circuitpython", "unix"])
def test_boards_get_ready_in_one_way(folder: str) -> None:
    """Each script is whole, as a board gets one file; what both have is the same in both."""
    one, two = (_functions(CLIENTS / folder / f"{name}.py") for name in ("connected", "listening"))
    both = (one.keys() & two.keys()) - OWN
    assert both and {name: one[name] for name in both} == {name: two[name] for name in both}
    if "get_ready" in one:
        assert _before_stage(one["get_ready"], "connect") == _before_stage(two["get_ready"], "listen")


def _functions(path: Path) -> dict[str, str]:
    module = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name: ast.unparse(node) for node in module.body if isinstance(node, ast.FunctionDef)}


def _before_stage(source: str, stage: str) -> list[str]:
    before, found, _ = source.partition(f"RESULT['stage'] = '{stage}'")
    assert found
    return [line for line in before.splitlines() if "make_socket" not in line]
