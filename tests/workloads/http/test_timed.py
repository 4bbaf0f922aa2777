"""What of the PC's connections is a span."""

from __future__ import annotations

from portbench.workloads import Session
from portbench.workloads.http.workload import WORKLOAD


def session(started_us: float, *received_us: float) -> Session:
    return Session(0, "peer", started_us, None, len(received_us), 9, None, received_us=list(received_us))


END = session(900.0, 910.0)


def test_each_page_from_its_connection_s_first_packet_or_the_page_before_it() -> None:
    timed = WORKLOAD.timed({}, [session(10.0, 14.0, 19.5), session(20.0, 30.0), END])
    assert [(each.name, each.start_us, each.duration_us) for each in timed] == [
        ("request", 10.0, 4.0),
        ("request", 14.0, 5.5),
        ("request", 20.0, 10.0),
    ]


def test_pages_at_once_are_one_span() -> None:
    (timed,) = WORKLOAD.timed({}, [session(10.0, 40.0), session(11.0, 30.0), END])
    assert (timed.name, timed.start_us, timed.duration_us) == ("run", 10.0, 30.0)


def test_without_a_page_there_is_none() -> None:
    assert WORKLOAD.timed({}, [session(10.0), END]) == WORKLOAD.timed({}, []) == []
