"""Takes one connection of the PC's and answers each number with the next one."""

from portbench_client import RESULT


def server(listener, messages):
    RESULT["stage"] = "run"
    sock, _ = listener.accept()
    answered = 0
    try:
        while answered < messages:
            data = sock.recv(16)
            if not data:
                raise OSError("the PC closed the connection after %d messages" % answered)
            answered += 1
            sock.send(b"%d" % (int(data) + 1))
    except RuntimeError:  # adafruit_wiznet5k: the PC closed as soon as it had the last byte
        if answered < messages:
            raise
    sock.close()
    RESULT["answered"] = answered
    del RESULT["stage"]
