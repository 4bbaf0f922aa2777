"""Says that it is ready, and when it was started."""

from portbench_client import BOOTED_US, RESULT, elapsed_us


def ready(sock):
    RESULT["stage"] = "run"
    sock.send(b"ready\n")
    said = sock.recv(2)
    RESULT["answered_us"] = elapsed_us()
    if said != b"ok":
        raise ValueError("the PC said %s, not ok" % said)
    RESULT["booted_us"] = BOOTED_US
    sock.close()
    del RESULT["stage"]
