"""Gives back what comes, on one connection after the other."""

from portbench_client import RESULT


def echo_server(listener, connections):
    RESULT["stage"] = "run"
    echoed_bytes = []
    for _ in range(connections):
        sock, _ = listener.accept()
        count = 0
        while True:
            data = sock.recv(64)
            if not data:
                break
            sock.send(data)
            count += len(data)
        sock.close()
        echoed_bytes.append(count)
    RESULT["echoed_bytes"] = echoed_bytes
    del RESULT["stage"]
