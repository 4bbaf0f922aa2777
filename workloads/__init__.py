"""Workloads, one folder each, found by listing. The files beside the folders are their common contract.

`workloads/README.md` explains how to add one.
"""

from portbench.workloads.conversation import Conversation, ConversationError, Datagrams, NetworkFault, Ping, PingPlan
from portbench.workloads.load_generator import LoadGenerator
from portbench.workloads.registry import WORKLOADS_VARIABLE, workload, workloads
from portbench.workloads.session import Handshake, Session, Turnaround
from portbench.workloads.workload import (
    BadResult,
    Column,
    Measurement,
    Metric,
    PublishedFirmware,
    PublishedSource,
    Readiness,
    Spent,
    Timed,
    Workload,
    WorkloadResult,
    WorkloadSettings,
)

__all__ = [
    "WORKLOADS_VARIABLE",
    "BadResult",
    "Column",
    "Conversation",
    "ConversationError",
    "Datagrams",
    "Handshake",
    "LoadGenerator",
    "Measurement",
    "Metric",
    "NetworkFault",
    "Ping",
    "PingPlan",
    "PublishedFirmware",
    "PublishedSource",
    "Readiness",
    "Session",
    "Spent",
    "Timed",
    "Turnaround",
    "Workload",
    "WorkloadResult",
    "WorkloadSettings",
    "workload",
    "workloads",
]
