"""The figures of a run, from what the PC kept of its connections."""

import statistics
from typing import Any

import pytest

from portbench.workloads import BadResult, ConversationError, LoadGenerator, Session, workload
from portbench.workloads.http.conversation import End, GetPages
from portbench.workloads.http.workload import PERCENTS, Settings, connection_times
from tests.measuring import Measure

HTTP = workload("http")


def session(number: int, *, start_us: float, pages: int = 1, error: str | None = None, attempts: int = 1) -> Session:
    """Connect takes 100 us, each page 1000 us more, its first byte 600 us."""
    established_us = start_us + 100
    return Session(
        number=number,
        peer="10.0.0.2:80",
        started_us=start_us,
        established_us=established_us,
        asked_us=established_us + 200,
        first_byte_us=established_us + 600 if pages else None,
        received_us=[established_us + 1000 * (page + 1) for page in range(pages)],
        ended_us=established_us + 1000 * pages + 50,
        exchanges=pages,
        received_bytes=200 * pages,
        error=error,
        attempts=attempts,
    )


def check(sessions: list[Session], asked: int, **settings: Any) -> Any:
    return HTTP.check({"asked": asked, "faults": 0}, Settings(**settings), sessions)


def test_every_stage() -> None:
    end = session(2, start_us=9000)
    found = check([session(0, start_us=1000), session(1, start_us=3000, attempts=3), end], 3, requests=2)
    assert found.samples == {
        "connect_us": [100, 100],
        "waiting_us": [400, 400],
        "processing_us": [1000, 1000],
        "total_us": [1100, 1100],
    }
    same = {
        f"{stage}_{what}_us": time_us
        for stage, time_us in (("connect", 100), ("waiting", 400), ("processing", 1000), ("total", 1100))
        for what in ("min", "mean", "median", "max")
    }
    assert found.figures == {
        **same,
        **{f"{stage}_sd_us": 0 for stage in ("connect", "waiting", "processing", "total")},
        **{f"total_{percent}_percent_us": 1100 for percent in PERCENTS},
        "completed": 2,
        "failed": 0,
        "failed_reset": 0,
        "failed_short": 0,
        "failed_wrong": 0,
        "refused_attempts": 2,
        "board_faults": 0,
        "duration_us": 3150,
        "requests_per_s": 2e6 / 3150,
    }


def test_times_are_counted_as_ab_counts_them() -> None:
    """Ten requests: `50%` is the sixth, `99%` and `100%` the last; ab divides squares by one less than there are."""
    figures = connection_times({"total_us": [float(time_us) for time_us in (30, 10, 20, 40, 50, 60, 70, 80, 90, 100)]})
    assert [figures[f"total_{percent}_percent_us"] for percent in PERCENTS] == [60, 70, 80, 90, 100, 100, 100, 100, 100]
    assert (figures["total_mean_us"], figures["total_median_us"]) == (55, 55)
    assert round(figures["total_sd_us"], 6) == 30.276504
    assert connection_times({"total_us": [7.0], "waiting_us": []}) == {
        **{f"total_{name}_us": 7.0 for name in ("min", "mean", "median", "max")},
        "total_sd_us": 0.0,
        **{f"total_{percent}_percent_us": 7.0 for percent in PERCENTS},
    }


def test_pages_of_one_connection() -> None:
    found = check([session(0, start_us=0, pages=3), session(1, start_us=9000)], 4, requests=3, keep_alive=5)
    assert found.samples["connect_us"] == [100, 0, 0] and found.samples["total_us"] == [1100, 1000, 1000]
    assert found.figures["requests_per_s"] == 3e6 / 3150


def test_failures_are_counted() -> None:
    bad = ["wrong: status 404, not 200", "short: the board closed", "connection lost after 0 exchanges (reset)"]
    failed = [session(number, start_us=0, pages=0, error=error) for number, error in enumerate(bad)]
    figures = check([*failed, session(3, start_us=0), session(4, start_us=0)], 9, requests=4).figures
    assert [figures[f"failed_{kind}"] for kind in ("wrong", "short", "reset")] == [1, 1, 1]
    assert figures["completed"] == 1 and figures["failed"] == 3


def test_a_run_without_a_page_has_no_figures() -> None:
    with pytest.raises(BadResult, match=r"^no page came right: short: the board closed$"):
        check([session(0, start_us=0, pages=0, error="short: the board closed")], 1, requests=1)


def test_a_board_that_was_asked_for_less_than_came() -> None:
    with pytest.raises(BadResult, match=r"^the client was asked for 0 pages, and 1 came right$"):
        check([session(0, start_us=0), session(1, start_us=5000)], 1, requests=1)


def test_the_last_connection_tells_the_board_to_stop() -> None:
    load: LoadGenerator = HTTP.load_generator(Settings(requests=5, keep_alive=2), 1000)
    assert load.connections == 4
    talks = []
    while (talk := load.begin()) is not None:
        talks.append(talk)
        load.ended(good=True)
    assert [type(each) for each in talks] == [GetPages, GetPages, GetPages, End] and load.over


def test_a_foreign_image_is_measured_by_the_pcs_connections_alone() -> None:
    found = HTTP.measure_calls([session(0, start_us=1000), session(1, start_us=3000)], Settings(requests=2))
    ours = check([session(0, start_us=1000), session(1, start_us=3000), session(2, start_us=9000)], 3, requests=2)
    assert found.samples == ours.samples
    assert found.figures == {name: value for name, value in ours.figures.items() if name != "board_faults"}
    with pytest.raises(BadResult, match=r"^no page came right: wrong: status 404, not 200$"):
        HTTP.measure_calls([session(0, start_us=0, pages=0, error="wrong: status 404, not 200")], Settings(requests=1))


@pytest.mark.parametrize(
    ("settings", "path"),
    [({}, b"/"), ({"page": "dynamic"}, b"/dynamic"), ({"path": "/a.shtml", "page": "dynamic"}, b"/a.shtml")],
)
def test_a_foreign_image_is_asked_for_its_own_page_and_not_to_stop(settings: dict[str, Any], path: bytes) -> None:
    load = HTTP.foreign_calls(Settings(requests=3, keep_alive=2, **settings), 1000)
    assert load.connections == 2 and load.counts_failures
    talks = []
    while (talk := load.begin()) is not None:
        assert isinstance(talk, GetPages) and talk.opened().startswith(b"GET %s HTTP/1.1\r\n" % path)
        talks.append(talk)
        load.ended(good=True)
    assert len(talks) == 2
    for talk, body in zip(talks, (b"one", b"two"), strict=True):
        answer = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n" + body
        if body == b"two" and settings.get("page") != "dynamic":
            with pytest.raises(ConversationError, match="and the first was 3 bytes, b'one'"):
                talk.receive(answer)
        else:
            talk.receive(answer)


def test_a_path_is_for_foreign_images_only() -> None:
    """Our boards read as many bytes as ever."""
    assert "path" not in Settings().model_dump(mode="json")
    assert Settings(path="/x").model_dump(mode="json")["path"] == "/x"
    HTTP.check_room("foreign", Settings(path="/x"))
    HTTP.check_room("micropython", Settings())
    with pytest.raises(ValueError, match=r"^path is '/x': only foreign images have other paths; leave out -s path$"):
        HTTP.check_room("micropython", Settings(path="/x"))
    for wrong in ("x", "/a b", "/\r\n", ""):
        with pytest.raises(ValueError, match="pattern"):
            Settings(path=wrong)


def timed_session(started_us: float, *received_us: float) -> Session:
    return Session(0, "peer", started_us, None, len(received_us), 9, None, received_us=list(received_us))


LAST = timed_session(900.0, 910.0)


def test_an_interval_begins_with_the_first_packet_or_the_page_before() -> None:
    timed = HTTP.timed({}, [timed_session(10.0, 14.0, 19.5), timed_session(20.0, 30.0), LAST])
    assert [(each.name, each.start_us, each.duration_us) for each in timed] == [
        ("request", 10.0, 4.0),
        ("request", 14.0, 5.5),
        ("request", 20.0, 10.0),
    ]


def test_pages_at_once_are_one_interval() -> None:
    (timed,) = HTTP.timed({}, [timed_session(10.0, 40.0), timed_session(11.0, 30.0), LAST])
    assert (timed.name, timed.start_us, timed.duration_us) == ("run", 10.0, 30.0)


def test_without_a_page_there_is_no_interval() -> None:
    assert HTTP.timed({}, [timed_session(10.0), LAST]) == HTTP.timed({}, []) == []


@pytest.mark.engine
def test_lwip_keeps_an_early_request_until_its_250_ms_timer(measured_row: Measure) -> None:
    """But not the second one of a connection."""
    row = measured_row(HTTP, "micropython-1.26.0", "tuned", requests=6, keep_alive=2)
    first, second = row.samples["processing_us"][::2], row.samples["processing_us"][1::2]
    assert statistics.median(first) > 200_000 > 10_000 > max(second)
