"""The page of HTML: its contents, that it needs nothing from elsewhere, and that no text becomes markup."""

import gzip
import re
from base64 import b64decode
from html.parser import HTMLParser
from pathlib import Path

import pytest

from portbench.errors import LibraryMissing
from portbench.results import storage
from portbench.results.csv_export import samples_csv
from portbench.results.model import Status
from portbench.results.page import build
from portbench.results.page.drawing import PREVIEW, page_libraries
from portbench.results.page.parts import Data, names
from portbench.results.page.sections.ranking import PORTS
from portbench.results.publish import html, lacking, measured_rows, publish
from portbench.results.publish import page as markdown_page
from portbench.results.storage import StorageError
from portbench.results.table import panels
from tests.results.page_run import FULL
from tests.results.rows import START, row, run_of

SMALL = run_of(row(2000), row(3000, runtime="other"))


class Elements(HTMLParser):
    """All elements with their attributes, and the text between them."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.found if name == tag]


@pytest.fixture(scope="module")
def page() -> str:
    return html(FULL)


@pytest.fixture(scope="module")
def elements(page: str) -> Elements:
    return Elements(page)


def test_rows_of_one_name_are_told_apart() -> None:
    alike = ({"build": "a.uf2"}, {"build": "b.uf2"}, {"build": "b.uf2", "version": "2"}, {"runtime": "other"})
    (panel,) = panels(run_of(*(row(1000 + number, **each) for number, each in enumerate(alike))))
    assert names(panel) == ["some-1.0 (a.uf2)", "some-1.0 (b.uf2)", "some-1.0 (b.uf2) again", "other"]


def test_the_head_says_that_a_run_was_interrupted() -> None:
    for finished, is_told in ((None, True), (START, False)):
        run = run_of(row(2000), finished_utc=finished)
        assert ("interrupted; rows measured until then are here" in html(run)) is is_told
        assert ("The run was interrupted; rows measured until then are shown." in markdown_page(run)) is is_told


def test_figures_to_ship_are_not_replaced_by_fewer_and_have_measured_rows_alone(tmp_path: Path) -> None:
    path = tmp_path / "figures.json"
    publish(FULL, [path])
    assert {row.status for row in storage.read(path).rows} == {Status.MEASURED}
    assert lacking(FULL, path) == [] and lacking(FULL, tmp_path / "none.json") == []
    fewer = FULL.model_copy(update={"rows": FULL.rows[1:3]})
    assert lacking(fewer, path) == [
        "far_away emulated fast",
        "far_away emulated slow",
        "ping_pong emulated portbench-native tuned",
    ]


def test_every_port_has_its_page(elements: Elements) -> None:
    base = "https://github.com/portbench/portbench/blob/main/"
    linked = [link["href"] or "" for link in elements.all("a") if (link["href"] or "").startswith(base)]
    assert {Path(address).stem for address in linked} == {"micropython", "native"}
    for name in PORTS:
        assert (Path(__file__).parents[2] / "docs" / "runtimes" / f"{name}.md").is_file()


def test_a_link_to_the_page_has_a_picture(tmp_path: Path) -> None:
    publish(SMALL, [tmp_path / "page.html"], address="https://example.org/results/")
    page = Elements((tmp_path / "page.html").read_text(encoding="utf-8"))
    metas = {meta["property"]: meta["content"] for meta in page.all("meta") if "property" in meta}
    assert metas["og:image"] == "https://example.org/results/page.png"
    assert metas["og:title"] == "Which Python firmware is fastest on a board?"
    head = (tmp_path / "page.png").read_bytes()[:24]
    assert head.startswith(b"\x89PNG") and int.from_bytes(head[16:20], "big") == 2 * (PREVIEW + 2 * 24)


def test_nothing_is_wanted_from_elsewhere(page: str, elements: Elements) -> None:
    for tag, attributes in elements.found:
        for name in ("src", "srcset", "href", "xlink:href", "action", "data"):
            address = attributes.get(name) or ""
            assert tag == "a" or not re.match(r"(?!data:)[a-z]+:|//", address), (tag, address)
    assert not re.search(r"@import|url\((?!#)", page)


def test_an_id_is_there_once_and_what_refers_to_one_finds_it(page: str, elements: Elements) -> None:
    ids = [attributes["id"] for _, attributes in elements.found if "id" in attributes]
    assert len(set(ids)) == len(ids)
    named = re.findall(r'url\(#([^)]+)\)|href="#([^"]+)"|aria-labelledby="([^"]+)"', page)
    assert {name for names in named for name in names if name} <= set(ids)


def test_drawings_have_the_pages_colours_only(page: str) -> None:
    for svg in re.findall(r"<svg.*?</svg>", page, re.DOTALL):
        assert not re.search(r"#[0-9a-f]{3,6}[;\"]", svg) and "var(--" in svg


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_and_drawings_stand_out(scheme: str) -> None:
    """By WCAG 2: 4.5 for text, 3 for drawings. Axe cannot see into a drawing, so these colours are checked here."""
    style = (Path(build.__file__).parent / "page.css").read_text(encoding="utf-8")
    schemes = [
        dict(re.findall(r"(--[\w-]+): (#[0-9a-f]{6})", block)) for block in re.findall(r":root \{(.*?)\}", style, re.S)
    ]
    colours = schemes[scheme == "dark"]
    for ground in ("--page", "--raised"):
        for name in ("--ink", "--soft", "--link"):
            assert contrast(colours[name], colours[ground]) >= 4.5, (name, ground)
        for number in range(1, 9):
            assert contrast(colours[f"--series-{number}"], colours[ground]) >= 3, (number, ground)


def contrast(one: str, other: str) -> float:
    low, high = sorted(map(luminance, (one, other)))
    return (high + 0.05) / (low + 0.05)


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_the_page_stays_small(page: str) -> None:
    assert len(page.encode()) < 300_000


def test_what_it_carries_is_the_run(elements: Elements) -> None:
    packed = {link["data-name"]: link["href"] or "" for link in elements.all("a") if "data-name" in link}
    files = {name: gzip.decompress(b64decode(address.partition(",")[2])).decode() for name, address in packed.items()}
    assert storage.parse(files["run.json"], Path("run.json")) == FULL
    assert files["samples.csv"] == samples_csv(FULL.rows)
    assert files["rows.csv"].count("\n") == len(FULL.rows) + 1


def test_addresses_and_code_are_marked_and_all_else_is_escaped() -> None:
    told = build._linked('<b> & "x" https://a.example/"<i> `<u> & x` http://b.example/?a=1&b=<s>. javascript:x <q>')
    assert told == (
        '&lt;b&gt; &amp; &#34;x&#34; <a href="https://a.example/">a.example/</a>&#34;&lt;i&gt;'
        " <code>&lt;u&gt; &amp; x</code>"
        ' <a href="http://b.example/?a=1&amp;b=">b.example/?a=1&amp;b=</a>&lt;s&gt;. javascript:x &lt;q&gt;'
    )


def test_the_names_of_a_pages_rows_end_neither_the_comment_nor_their_list(tmp_path: Path) -> None:
    """`lacking` reads them again: a name with a comma, or the end of a comment, is one name."""
    names = ("a, b", "c --> <script>x</script> <!-- d", "e--f", "g\nh", "1.0-rc_1")
    run = run_of(*(row(2000 + number, runtime=name) for number, name in enumerate(names)))
    wanted = ("1.0-rc_1", "a- b", "c -- -script-x-script- -- d", "e-f", r"g-x0ah")
    assert measured_rows(run) == ", ".join(f"ping_pong emulated {name}" for name in wanted)
    for page in (tmp_path / "page.md", tmp_path / "page.html"):
        publish(run, [page])
        assert page.read_text(encoding="utf-8").count(f"<!-- rows: {measured_rows(run)} -->") == 1
        assert lacking(run, page) == []
        assert len(lacking(run.model_copy(update={"rows": run.rows[1:]}), page)) == 1


def test_a_run_without_figures_has_a_page() -> None:
    assert "Not measured" not in html(run_of())
    one = row(2000, samples={}, figures={"total_us": 2000, "messages_per_s": 2000})
    assert ">All figures</h3>" in html(run_of(one))


def test_the_first_words_are_of_a_reference_where_no_python_was_measured() -> None:
    page = html(run_of(row(2000, runtime="portbench-native", family="native", profile="tuned")))
    paragraphs = re.findall(r"<p>(.*?)</p>", page)
    told = [number for number, text in enumerate(paragraphs) if text.startswith("Reference: ")]
    assert (told, paragraphs[1]) == ([1], "Reference: portbench-native, which is not Python, 2000 messages/s.")


def test_a_page_is_not_replaced_by_a_lesser_run(tmp_path: Path) -> None:
    markdown, hyper = tmp_path / "page.md", tmp_path / "page.html"
    publish(SMALL, [hyper])
    before = hyper.read_bytes()
    lesser = SMALL.model_copy(update={"rows": SMALL.rows[:1]})
    assert lacking(lesser, hyper)
    with pytest.raises(StorageError, match=r"page\.html: has ping_pong emulated other, which .*--force"):
        publish(lesser, [markdown, hyper])
    assert hyper.read_bytes() == before and not markdown.exists()  # all of them, or none
    publish(lesser, [hyper], force=True)
    assert not lacking(lesser, hyper) and hyper.read_bytes() != before


def test_a_column_is_of_numbers_where_all_its_cells_are() -> None:
    assert Data("x", ("a", "b"), (("1", "9.1.4"), (None, "2"))).numeric == [True, False]


def test_a_page_without_its_libraries_names_their_extra() -> None:
    with pytest.raises(LibraryMissing, match=r"needs jinja2; install it: pip .*\[page\]'$"), page_libraries():
        raise ImportError(name="jinja2")
