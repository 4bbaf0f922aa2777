"""Serves a page by TLS, on one connection after the other."""

from portbench_client import RESULT


def https_server(listener, port, key, connections, page_bytes):
    RESULT["stage"] = "ssl"
    try:
        import ssl
    except ImportError:
        ssl = None
    if ssl is None or not hasattr(ssl.SSLContext, "load_cert_chain"):
        raise OSError("unsupported: this port's ssl has no server")
    context = ssl.create_default_context()
    context.load_verify_locations(cadata="")  # no roots: it asks the PC for no certificate
    context.load_cert_chain("server.pem", "server.key")
    server = context.wrap_socket(getattr(listener, "_sock", listener), server_side=True)
    head = b"HTTP/1.0 200 OK\r\nContent-Length: %d\r\n\r\n" % page_bytes
    block = bytes(range(256)) * 4
    room = bytearray(256)
    RESULT["served"] = 0
    for _ in range(connections):
        RESULT["stage"] = "handshake"
        stream, _ = server.accept()
        RESULT["stage"] = "page"
        request = b""
        while not request.endswith(b"\r\n\r\n"):
            got = stream.recv_into(room)
            if not got:
                break
            request += room[:got]
        data = head + block * (page_bytes // 1024) + block[: page_bytes % 1024]
        while data:
            data = data[stream.send(data) :]
        stream.close()
        RESULT["served"] += 1
    server.close()
    del RESULT["stage"]
