"""Workloads of a user's own, and benches that all workloads share: most of a row's time goes into flashing."""

from typing import Any

import pytest

from portbench.boards import BoardDefinition, BoardUnavailable, Deadline
from portbench.boards.hosted.micropython_unix import HostedMicroPython
from portbench.clients import build_deployment
from portbench.workloads import WORKLOADS_VARIABLE, Workload, WorkloadSettings
from tests import measuring
from tests.measuring import measured_row as measured_row
from tests.workloads.own import FOLDER


@pytest.fixture
def own_workloads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(WORKLOADS_VARIABLE, str(FOLDER))


benches = pytest.fixture(measuring.benches, scope="package")


def hosted_result(board: BoardDefinition, workload: Workload, settings: WorkloadSettings) -> dict[str, Any]:
    """The result of hosted MicroPython, without a network; skips the test where it is not installed."""
    try:
        hosted = HostedMicroPython(board)
    except BoardUnavailable as error:
        pytest.skip(str(error))
    with hosted:
        hosted.deploy(build_deployment("hosted", "", board, workload, settings, None), Deadline(5, "deploy"))
        result = hosted.run(Deadline(60, "run")).result
    assert result is not None and "error" not in result, result
    return dict(result)
