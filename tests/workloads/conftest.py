"""Workloads of a user's own."""

from __future__ import annotations

import pytest

from portbench.workloads import WORKLOADS_VARIABLE
from tests.workloads.own import FOLDER


@pytest.fixture
def own_workloads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(WORKLOADS_VARIABLE, str(FOLDER))
