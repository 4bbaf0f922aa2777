"""Opens connections beside the one that is open, and has the PC do things to them; notes what each step came to."""

import gc
import time

from portbench_client import RESULT


def clock():
    """A clock in microseconds, and what turns two of its readings into their distance."""
    if hasattr(time, "ticks_us"):
        return time.ticks_us, time.ticks_diff
    return (lambda: time.monotonic_ns() // 1000), (lambda later, earlier: later - earlier)


def limit(sock):
    """A hardwired build has no time-outs, though it has the method."""
    try:
        sock.settimeout(20)
    except (AttributeError, OSError):
        RESULT["time_outs"] = False


class Trial:
    """Steps by name: what came of each, and how long it took."""

    def __init__(self, sock, server, port):
        self.first = sock
        self.peer = (server, port)
        self.now, self.distance = clock()
        self.steps = []
        self.reserve = None

    def step(self, name, do, *arguments):
        """Returns what `do` does, or None after an error."""
        result = None
        started = self.now()
        try:
            result = do(*arguments)
            outcome = "ok" if result is not None else "nothing"
        except Exception as error:
            self.reserve = None  # what it takes to tell the error
            outcome = repr(error).replace(",)", ")")
        self.steps.append((name, outcome, self.distance(self.now(), started)))
        return result

    def open(self):
        if hasattr(self.first, "_socket_pool"):
            made = self.first._socket_pool.socket()
            address = self.peer
        elif hasattr(time, "ticks_us"):
            import socket

            made = socket.socket()
            address = socket.getaddrinfo(*self.peer)[0][-1]
        else:
            made = type(self.first)()
            address = self.peer
        limit(made)
        try:
            made.connect(address)
        except Exception:
            made.close()
            raise
        return made

    def write(self, sock, line):
        if sock.send(line) == 0:
            self.write_again(sock, line)

    def write_again(self, sock, line):
        """A hardwired build sends nothing, and says 0, until the bytes before have been acknowledged."""
        until = time.time() + 20
        while sock.send(line) == 0:
            if time.time() > until:
                raise OSError("sends nothing")
            time.sleep(0.01)

    def hi(self, sock):
        self.write(sock, b"hi\n")
        said = b""
        while len(said) < 2:
            data = sock.recv(2 - len(said))
            if not data:
                raise OSError("closed")
            said += data
        return said

    def say(self, sock, line):
        self.write(sock, line)
        return line

    def close(self, sock):
        sock.close()
        return sock


def at_once(trial, most):
    """As many as there can be, whether all of them work, and whether one can be had again once they are closed."""
    opened = [trial.first]
    while len(opened) < most:
        made = trial.step("open %d" % (len(opened) + 1), trial.open)
        if made is None:
            break
        opened.append(made)
        if trial.step("say hi on %d" % len(opened), trial.hi, made) is None:
            break
    trial.step("all work", lambda: [trial.hi(each) for each in opened])
    for each in opened[1:]:
        trial.step("close", trial.close, each)
    made = trial.step("open again", trial.open)
    if made is not None:
        trial.step("say hi again", trial.hi, made)
        made.close()


def rate(trial, most):
    """One after the other."""
    for _ in range(most):
        made = trial.step("open", trial.open)
        if made is None:
            break
        trial.step("say hi", trial.hi, made)
        trial.step("close", trial.close, made)
    trial.step("the first works", trial.hi, trial.first)


def memory(trial, most):
    """Next to nothing of the heap is left."""
    gc.collect()
    trial.reserve = bytearray(1024)
    hog = [None] * 512  # flat: a chain would be slow to collect
    count, size = 0, 4096
    while size >= 32 and count < len(hog):
        try:
            hog[count] = bytearray(size)
            count += 1
        except MemoryError:
            size //= 2
    for _ in range(min(16, count)):  # what it takes to note a step
        count -= 1
        hog[count] = None
    trial.step("say hi without memory", trial.hi, trial.first)
    made = trial.step("open without memory", trial.open)
    if made is not None:
        trial.step("say hi on it", trial.hi, made)
        made.close()
    hog = None
    gc.collect()
    trial.step("the first works", trial.hi, trial.first)
    trial.step("open again", trial.open)


def ended(trial, line):
    """The connection is ended by the PC; what reading and writing come to, and whether there is a next one."""
    trial.step("ask for it", trial.say, trial.first, line)
    trial.step("read", lambda: trial.first.recv(2) or None)
    trial.step("write", trial.say, trial.first, b"hi\n")
    trial.step("close", trial.close, trial.first)


def closed(trial, most):
    ended(trial, b"close\n")
    trial.first = trial.step("open again", trial.open) or trial.first
    trial.step("say hi again", trial.hi, trial.first)


def reset(trial, most):
    ended(trial, b"reset\n")
    trial.first = trial.step("open again", trial.open) or trial.first
    trial.step("say hi again", trial.hi, trial.first)


def restart(trial, most):
    """The server is away for two seconds."""
    ended(trial, b"restart 2000\n")
    for _ in range(most):
        made = trial.step("open", trial.open)
        if made is not None:
            trial.first = made
            break
        time.sleep(0.5)
    trial.step("say hi again", trial.hi, trial.first)


def cable(trial, most):
    """The cable is out for three seconds."""
    trial.step("ask for it", trial.say, trial.first, b"cable 3000\n")
    time.sleep(0.1)
    trial.step("say hi without a cable", trial.hi, trial.first)
    trial.step("say hi again", trial.hi, trial.first)
    trial.step("open again", trial.open)


TRIALS = {
    "at_once": at_once,
    "rate": rate,
    "memory": memory,
    "closed": closed,
    "reset": reset,
    "restart": restart,
    "cable": cable,
}


def many(sock, server, port, trial, most):
    RESULT["stage"] = trial
    made = Trial(sock, server, port)
    limit(sock)
    made.step("say hi", made.hi, sock)
    TRIALS[trial](made, most)
    RESULT["steps"] = made.steps
    del RESULT["stage"]
