"""Takes one connection of the PC's and answers each number with the next one."""

from portbench_client import RESULT


def server(listener, messages):
    RESULT["stage"] = "run"
    sock, _ = listener.accept()
    answered = 0
    while answered < messages:
        data = sock.recv(16)
        if not data:
            raise OSError("the PC closed the connection after %d messages" % answered)
        sock.send(b"%d" % (int(data) + 1))
        answered += 1
    sock.close()
    RESULT["answered"] = answered
    del RESULT["stage"]
