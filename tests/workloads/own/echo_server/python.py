"""Gives back all bytes, on one connection after the other."""

from portbench_client import RESULT


def echo_server(listener, connections, hang_up_after):
    RESULT["stage"] = "run"
    echoed_bytes = []
    for _ in range(connections):
        sock, _ = listener.accept()
        count = 0
        while True:
            data = sock.recv(64)
            if not data:
                break
            try:
                sock.send(data)
            except RuntimeError as error:  # adafruit_wiznet5k: the PC closed as soon as it had the last byte
                RESULT["last_fault"] = repr(error)
            count += len(data)
            if 0 < hang_up_after <= count:
                break
        sock.close()
        echoed_bytes.append(count)
    RESULT["echoed_bytes"] = echoed_bytes
    del RESULT["stage"]
