"""A site to download from, and a user who has neither images nor a wish to stay offline."""

import http.server
import threading
from collections.abc import Iterator

import pytest

Answer = tuple[int, bytes, int]
"""Status, body, and how many bytes of it are left out at the end."""


class Site(http.server.ThreadingHTTPServer):
    """Serves `pages`: per path the answers in turn, the last one for ever."""

    def __init__(self) -> None:
        self.pages: dict[str, list[Answer]] = {}
        self.requests: list[str] = []
        super().__init__(("127.0.0.1", 0), Handler)

    def url(self, file: str) -> str:
        return f"http://127.0.0.1:{self.server_port}/{file}"

    def answer(self, path: str) -> Answer:
        answers = self.pages.get(path[1:], [(404, b"nothing here", 0)])
        return answers.pop(0) if len(answers) > 1 else answers[0]


class Handler(http.server.BaseHTTPRequestHandler):
    server: Site

    def do_HEAD(self) -> None:
        self.server.requests.append(f"HEAD {self.path}")
        self.send_response(200)
        self.end_headers()

    def do_GET(self) -> None:
        self.server.requests.append(f"GET {self.path}")
        status, body, cut = self.server.answer(self.path)
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: len(body) - cut])

    def log_message(self, *_: object) -> None:
        pass


def serving(site: Site) -> Iterator[Site]:
    """The site while a test runs."""
    with site:
        thread = threading.Thread(target=site.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield site
        site.shutdown()
        thread.join(5)


@pytest.fixture
def site() -> Iterator[Site]:
    yield from serving(Site())


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("PORTBENCH_FIRMWARE_DIR", "PORTBENCH_OFFLINE"):
        monkeypatch.delenv(variable, raising=False)
    for variable in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr("pooch.core.time.sleep", lambda _: None)
