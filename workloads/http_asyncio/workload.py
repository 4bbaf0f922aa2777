"""The pages of the workload http, served by MicroPython's asyncio."""

from portbench.workloads.http.workload import PagesWorkload


class HttpAsyncioWorkload(PagesWorkload):
    name = "http_asyncio"
    title = "HTTP by asyncio"


WORKLOAD = HttpAsyncioWorkload()
