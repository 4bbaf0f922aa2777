"""Workloads of a user's own, and benches that all workloads share: most of a row's time goes into flashing."""

from __future__ import annotations

import pytest

from portbench.workloads import WORKLOADS_VARIABLE
from tests import measuring
from tests.workloads.own import FOLDER


@pytest.fixture
def own_workloads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(WORKLOADS_VARIABLE, str(FOLDER))


benches = pytest.fixture(measuring.benches, scope="package")
