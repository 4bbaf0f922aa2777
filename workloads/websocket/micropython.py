"""Echoes by the WebSocket client of micropython-lib's aiohttp."""

import asyncio
import time

import aiohttp
from portbench_client import RESULT


async def echo(ws, message):
    if isinstance(message, str):
        await ws.send_str(message)
        return await ws.receive_str()
    await ws.send_bytes(message)
    return await ws.receive_bytes()


async def talk(url, context, messages, sizes):
    started = time.ticks_us()
    async with aiohttp.ClientSession() as session, session.ws_connect(url, ssl=context) as ws:
        RESULT["connect_us"] = time.ticks_diff(time.ticks_us(), started)
        for size in sizes.split(","):
            for message in (b"w" * int(size), "w" * int(size)):
                RESULT["round_trip_us"].append(times := [])
                for _ in range(messages):
                    started = time.ticks_us()
                    said = await echo(ws, message)
                    times.append(time.ticks_diff(time.ticks_us(), started))
                    if said != message:
                        raise ValueError("the echo differs")
        await ws.close()


def unchecked():
    """A context that takes any certificate."""
    try:
        import ssl

        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    except (ImportError, AttributeError):
        raise OSError("unsupported: this port has no module ssl with an SSLContext") from None
    context.verify_mode = ssl.CERT_NONE
    return context


def websocket(sock, server, port, messages, sizes, tls):
    RESULT["stage"] = "run"
    try:
        sock.setblocking(False)
    except OSError as error:
        why = "unsupported: this port's sockets cannot be non-blocking, which asyncio needs: %r"
        raise OSError(why % error) from None
    sock.close()
    RESULT["round_trip_us"] = []
    url = "%s://%s:%d/" % ("wss" if tls else "ws", server, port)
    asyncio.run(talk(url, unchecked() if tls else None, messages, sizes))
    del RESULT["stage"]
