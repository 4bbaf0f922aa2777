"""Workloads of a user's own."""

from __future__ import annotations

from tests.workloads.conftest import own_workloads as own_workloads
