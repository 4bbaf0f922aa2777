"""The handshake and the transfers of the workload tls, on a stream of MicroPython's asyncio."""

from portbench.workloads.tls.workload import TlsWorkload


class TlsAsyncioWorkload(TlsWorkload):
    name = "tls_asyncio"
    title = "TLS handshake by asyncio"


WORKLOAD = TlsAsyncioWorkload()
