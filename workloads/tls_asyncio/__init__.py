"""TLS by MicroPython's asyncio: the handshake and transfers of the workload tls on a stream."""
