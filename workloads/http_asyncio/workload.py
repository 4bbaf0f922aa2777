"""The pages of the workload http, served by MicroPython's asyncio."""

from __future__ import annotations

from portbench.workloads.http.workload import HttpWorkload


class HttpAsyncioWorkload(HttpWorkload):
    name = "http_asyncio"
    title = "HTTP by asyncio"
    timed_by_pc = False


WORKLOAD = HttpAsyncioWorkload()
