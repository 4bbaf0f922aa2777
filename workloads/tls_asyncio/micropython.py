"""Shakes hands with the PC's TLS server on a stream of asyncio, then sends and takes some bytes, and times each."""

import asyncio
import gc
import time

from board_tls import check_ssl, client_context, server_name, set_clock
from portbench_client import RESULT


def since(started):
    return time.ticks_diff(time.ticks_us(), started)


async def send(stream, data):
    stream.write(data)
    await stream.drain()


async def transfer(server, port, context, name, total):
    started = time.ticks_us()
    stream, _ = await asyncio.open_connection(server, port, ssl=context, server_hostname=name)
    RESULT["tcp_us"] = since(started)
    RESULT["stage"] = "handshake"
    started = time.ticks_us()
    await send(stream, b"up 1024 %d\n" % total)  # the stream shakes hands before its first byte
    RESULT["handshake_us"] = since(started)
    gc.collect()
    RESULT["heap_after_bytes"] = gc.mem_alloc()
    RESULT["stage"] = "up"
    block = bytes(range(256)) * 4
    started = time.ticks_us()
    for _ in range(total // 1024):
        await send(stream, block)
    await stream.readexactly(4)
    RESULT["up_us"] = since(started)
    RESULT["stage"] = "down"
    started = time.ticks_us()
    await send(stream, b"down 1024 %d\n" % total)
    left = total
    while left:
        left -= len(await stream.readexactly(min(left, 1024)))
    RESULT["down_us"] = since(started)
    stream.close()
    await stream.wait_closed()


def tls_asyncio(sock, server, port, key, chain, version, verify, fault, transfer_bytes):
    RESULT["stage"] = "ssl"
    try:
        sock.setblocking(False)
    except OSError as error:
        why = "unsupported: this port's sockets cannot be non-blocking, which asyncio needs: %r"
        raise OSError(why % error) from None
    sock.close()
    check_ssl(verify)
    if verify:
        RESULT["stage"] = "clock"
        set_clock(server, RESULT)
    gc.collect()
    RESULT["heap_before_bytes"] = gc.mem_alloc()
    context = client_context(verify)
    RESULT["stage"] = "tcp"
    name = server_name(key, chain, version, fault)
    asyncio.run(transfer(server, port, context, name, transfer_bytes // 1024 * 1024))
    del RESULT["stage"]
