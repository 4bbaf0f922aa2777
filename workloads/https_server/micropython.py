"""Serves a page by TLS, on one connection after the other."""

from portbench_client import RESULT


def https_server(listener, port, key, connections, page_bytes):
    RESULT["stage"] = "ssl"
    try:
        import ssl
    except ImportError:
        ssl = None
    if not hasattr(getattr(ssl, "SSLContext", None), "load_cert_chain"):
        raise OSError("unsupported: this port's ssl has no SSLContext with load_cert_chain")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain("server.der", "server.key")
    head = b"HTTP/1.0 200 OK\r\nContent-Length: %d\r\n\r\n" % page_bytes
    block = bytes(range(256)) * 4
    RESULT["served"] = 0
    for _ in range(connections):
        RESULT["stage"] = "accept"
        sock, _ = listener.accept()
        RESULT["stage"] = "handshake"
        stream = context.wrap_socket(sock, server_side=True)
        RESULT["stage"] = "page"
        while stream.readline() not in (b"\r\n", b""):
            pass
        stream.write(head)
        left = page_bytes
        while left:
            left -= stream.write(block[:left])
        stream.close()
        sock.close()
        RESULT["served"] += 1
    listener.close()
    del RESULT["stage"]
