"""Takes one connection of another board's and answers each number with the next one."""

from portbench_client import RESULT


def serving(listener, messages, takes_report):
    RESULT["stage"] = "run"
    sock, _ = listener.accept()
    RESULT["stage"] = "message"
    answered = 0
    try:
        while answered < messages:
            data = sock.recv(16)
            if not data:
                raise OSError("the other board closed the connection after %d messages" % answered)
            sock.send(b"%d" % (int(data) + 1))
            answered += 1
    except RuntimeError:
        # adafruit_wiznet5k's, of a client that is through at once and closes before the chip says that all was sent.
        if answered < messages - 1:
            raise
        answered += 1
    RESULT["answered"] = answered
    if takes_report:  # of a client without a console
        RESULT["stage"] = "report"
        report = b""
        while not report.endswith(b"\n"):
            data = sock.recv(256)
            if not data:
                raise OSError("the other board closed the connection after %d bytes of its report" % len(report))
            report += data
        RESULT["report"] = report.decode()
    sock.close()
    del RESULT["stage"]
