"""The pages of the workload http, served by CircuitPython's adafruit_httpserver."""

from collections.abc import Sequence

from portbench.workloads.http.workload import PagesWorkload, Settings


class HttpHttpserverWorkload(PagesWorkload):
    name = "http_httpserver"
    title = "HTTP by adafruit_httpserver"
    boards_only = True

    def libraries(self, family: str, settings: Settings) -> Sequence[str]:
        return ("adafruit-circuitpython-httpserver",) if family == "circuitpython" else ()

    def check_room(self, family: str, settings: Settings) -> None:
        super().check_room(family, settings)
        if settings.keep_alive > 1:
            raise ValueError("adafruit_httpserver closes each connection after its answer; leave keep_alive out")


WORKLOAD = HttpHttpserverWorkload()
