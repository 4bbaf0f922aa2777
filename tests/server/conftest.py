"""Workloads of a user's own."""

from tests.workloads.conftest import own_workloads as own_workloads
