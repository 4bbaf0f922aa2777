import time

from scenario import SCENARIO, record

ERRORS = list(SCENARIO["connect_errors"])


class socket:
    def __init__(self):
        self.answers = []

    def bind(self, address):
        record({"bind": list(address)})

    def listen(self, backlog):
        record({"listen": backlog})

    def accept(self):
        accepted = socket()
        accepted.answers = [b"question", b""]
        return accepted, ("192.168.1.247", 49152)

    def settimeout(self, seconds):
        if not SCENARIO["lwip"]:
            raise OSError(22)

    def connect(self, address):
        time.sleep_ms(1200)
        if ERRORS:
            error = ERRORS.pop(0) if len(ERRORS) > 1 or not SCENARIO["connect_errors_for_ever"] else ERRORS[0]
            raise OSError(error)
        record({"connect": list(address)})

    def send(self, data):
        time.sleep_ms(1)
        if isinstance(data, bytes):
            record({"send": "question"})
            return len(data)
        value = int(data)
        answer = b"%d" % (value + 1)
        if value == SCENARIO["wrong_answer_to"]:
            answer = b"7"
        if value == SCENARIO["close_after"]:
            answer = b""
        if SCENARIO["split"]:
            self.answers = [answer[i : i + 1] for i in range(len(answer))]
        else:
            self.answers = [answer]
        return len(data)

    def recv(self, size):
        return self.answers.pop(0) if self.answers else b""

    def close(self):
        pass
