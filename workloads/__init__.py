"""Workloads, one folder each, found by listing. The files beside the folders are their common contract.

`workloads/README.md` explains how to add one.
"""

from portbench.workloads.called import Called
from portbench.workloads.conversation import Conversation, ConversationError, Datagrams, NetworkFault, Ping, PingPlan
from portbench.workloads.figures import Column, Measurement, Metric, Spent, Timed
from portbench.workloads.foreign import Foreign, ForeignClient, ForeignServer
from portbench.workloads.load_generator import LoadGenerator
from portbench.workloads.native import Native
from portbench.workloads.paired import Paired
from portbench.workloads.published import PublishedFirmware, PublishedSource
from portbench.workloads.registry import WORKLOADS_VARIABLE, workload, workloads
from portbench.workloads.result import BadResult, WorkloadResult
from portbench.workloads.served import Served
from portbench.workloads.session import Handshake, Session, Turnaround
from portbench.workloads.settings import WorkloadSettings
from portbench.workloads.workload import Readiness, Workload

__all__ = [
    "WORKLOADS_VARIABLE",
    "BadResult",
    "Called",
    "Column",
    "Conversation",
    "ConversationError",
    "Datagrams",
    "Foreign",
    "ForeignClient",
    "ForeignServer",
    "Handshake",
    "LoadGenerator",
    "Measurement",
    "Metric",
    "Native",
    "NetworkFault",
    "Paired",
    "Ping",
    "PingPlan",
    "PublishedFirmware",
    "PublishedSource",
    "Readiness",
    "Served",
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
