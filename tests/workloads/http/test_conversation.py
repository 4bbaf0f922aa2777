"""The PC's side: however TCP cuts an answer it is the same page, and a bad page is one clear fault."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portbench.workloads import ConversationError
from portbench.workloads.http.conversation import STATIC, Alike, End, GetPages, page_fault


def answer(body: bytes = STATIC, *, status: str = "200 OK", keep: bool = False, length: int | None = None) -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Length: {len(body) if length is None else length}\r\n"
    return f"{head}Connection: {'keep-alive' if keep else 'close'}\r\n\r\n".encode() + body


def dynamic(count: object = 1, adc: object = 65535) -> bytes:
    return f"<!DOCTYPE html><html><body><p>request {count}</p><p>ADC {adc}</p></body></html>".encode()


def test_the_request_is_that_of_a_plain_client() -> None:
    assert GetPages("static", 1).opened() == (
        b"GET / HTTP/1.1\r\nHost: board\r\nUser-Agent: portbench\r\nAccept: */*\r\nConnection: close\r\n\r\n"
    )
    assert GetPages("dynamic", 2).opened().startswith(b"GET /dynamic HTTP/1.1\r\n")
    assert End().opened().startswith(b"GET /end HTTP/1.1\r\n")


@given(st.lists(st.integers(0, 1000), max_size=8), st.integers(1, 3))
def test_however_the_answers_are_cut(cuts: list[int], pages: int) -> None:
    talk = GetPages("static", pages)
    talk.opened()
    stream = b"".join(answer(keep=number + 1 < pages) for number in range(pages))
    edges = [0, *sorted(cut % (len(stream) + 1) for cut in cuts), len(stream)]
    one = len(answer(keep=True))
    for low, high in pairwise(sorted({*edges, *range(one, len(stream), one)})):
        said = talk.receive(stream[low:high])
        assert bool(said) == (high % one == 0 and high < len(stream) and talk.exchanges < pages)
    assert talk.exchanges == pages and talk.finished
    talk.eof()


@pytest.mark.parametrize(
    ("came", "says"),
    [
        (answer(STATIC[:-1] + b"?"), "wrong: the page is 137 bytes"),
        (answer(b""), "wrong: the page is 0 bytes"),
        (answer(status="404 Not Found"), "wrong: status 404, not 200"),
        (b"SSH-2.0-dropbear\r\n\r\n", "wrong: illegal status line"),
        (answer() + b"more", "wrong: "),
    ],
)
def test_a_page_that_is_wrong(came: bytes, says: str) -> None:
    talk = GetPages("static", 2)
    talk.opened()
    with pytest.raises(ConversationError) as error:
        talk.receive(came)
    assert says in str(error.value) or str(error.value).startswith("short: ")


@pytest.mark.parametrize(
    ("came", "says"),
    [
        (b"", "short: "),
        (answer()[:-1], "short: peer closed connection without sending complete message body"),
        (b"HTTP/1.1 200", "short: "),
    ],
)
def test_a_board_that_closes_too_early(came: bytes, says: str) -> None:
    talk = GetPages("static", 1)
    talk.opened()
    talk.receive(came) if came else None
    with pytest.raises(ConversationError) as error:
        talk.eof()
    assert str(error.value).startswith(says) and "\n" not in str(error.value)


def test_a_board_that_does_not_keep_the_connection_alive() -> None:
    talk = GetPages("static", 2)
    talk.opened()
    with pytest.raises(ConversationError, match=r"^short: the board closes after 1 of 2 pages"):
        talk.receive(answer(keep=False))


@given(st.binary(max_size=300))
def test_whatever_a_board_says(data: bytes) -> None:
    talk = GetPages("static", 1)
    talk.opened()
    try:
        talk.receive(data)
        talk.eof()
    except ConversationError as error:
        assert "\n" not in str(error)
    else:
        assert talk.finished


@pytest.mark.parametrize(
    ("body", "says"),
    [
        (dynamic(), None),
        (dynamic(7, "none"), None),
        (dynamic(adc=65536), "the page's ADC reading is 65536, more than 16 bits"),
        (dynamic("x"), "not the dynamic one"),
        (STATIC, "not the dynamic one"),
    ],
)
def test_a_dynamic_page(body: bytes, says: str | None) -> None:
    found = page_fault("dynamic", body)
    assert (says is None and found is None) or (says and found and found.endswith(says))


def foreign(pages: int = 1) -> GetPages:
    return GetPages("static", pages, b"/page.html?a=1", Alike().fault)


def test_anybodys_page_may_end_with_its_connection() -> None:
    talk = foreign()
    assert talk.opened().startswith(b"GET /page.html?a=1 HTTP/1.1\r\n")
    talk.receive(b"HTTP/1.0 200 OK\r\nServer: lwIP\r\n\r\n<html>")
    talk.receive(b"</html>")
    assert not talk.finished
    talk.eof()
    assert talk.finished and talk.exchanges == 1


def test_anybodys_page_has_the_length_that_its_head_says() -> None:
    talk = foreign()
    talk.opened()
    talk.receive(answer(b"<html>"))
    assert talk.finished
    talk = foreign()
    talk.opened()
    talk.receive(answer(b"<html>", length=7))
    with pytest.raises(ConversationError, match=r"^short: "):
        talk.eof()


def test_all_static_pages_of_an_unknown_server_are_alike() -> None:
    talk = foreign(3)
    talk.opened()
    assert talk.receive(answer(b"one", keep=True)).startswith(b"GET /page.html?a=1 ")
    talk.receive(answer(b"one", keep=True))
    with pytest.raises(ConversationError) as error:
        talk.receive(answer(b"two"))
    assert str(error.value) == (
        "wrong: the page is 3 bytes, b'two', and the first was 3 bytes, b'one'; use -s page=dynamic"
    )
