"""Published figures as data: what the file may hold, and what a slip in it says."""

import statistics
from pathlib import Path

import pytest

from portbench.boards import known_boards
from portbench.clients.libraries import pinned_drivers
from portbench.errors import PortbenchError
from portbench.firmware import catalogue
from portbench.results.silicon import FILE, load, load_not_compared
from portbench.workloads import workload
from portbench.workloads.published import read_published

GUESTS = Path(__file__).parents[2] / "firmware" / "avr"
ROW = """
[[set]]
id = "{id}"
what = "messages"
source = "an author, a site"
board = "W5500_EVB_PICO"
measured_on = "a runtime"
runtime = "wiznet-hardwired"
relation = "{relation}"
unit = "s"
method = "{method}"
{more}
[set.silicon]
total_us = {silicon}
"""
USUAL = {
    "id": "a-set",
    "relation": "other version",
    "method": "row",
    "more": 'workload = "ping_pong"\nprofile = "tuned"',
    "silicon": "1.5",
}


def written(folder: Path, *entries: dict[str, str], head: str = "") -> Path:
    path = folder / "silicon.toml"
    path.write_text(head + "".join(ROW.format(**USUAL | entry) for entry in entries), encoding="utf-8")
    return path


def test_what_is_shipped_names_what_there_is() -> None:
    known = catalogue.load()
    for each in load():
        assert each.board in known_boards()
        if each.method == "guest":
            assert (GUESTS / f"{each.runtime}.hex").exists()
        if each.method in ("guest", "image"):
            continue
        entry = known.get(each.runtime)
        if each.relation == "same binary":
            assert entry.board == each.board and entry.sha256 is not None
            assert each.measured_on.endswith(f" {entry.version}")
        if each.workload is not None:
            assert workload(each.workload) and any(profile.name == each.profile for profile in entry.profiles)


def test_a_score_has_its_script() -> None:
    for each in load():
        if each.method == "perf_bench":
            assert {f"perf_bench/{name}" for name in (*each.silicon, "benchrun")} <= pinned_drivers().keys()


def test_scripts_of_one_name_are_one_file() -> None:
    hashes: dict[str, str] = {}
    for each in load():
        for script in each.scripts:
            assert hashes.setdefault(script.file, script.sha256) == script.sha256
            assert script.url.startswith("https://") and script.url.endswith(Path(script.file).name)


def test_a_set_is_read(tmp_path: Path) -> None:
    (found,) = load(written(tmp_path, {}))
    assert (found.id, found.silicon, found.scale) == ("a-set", {"total_us": 1.5}, 1.0)


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ({"relation": "a friend told me"}, "set[1].relation"),
        ({"silicon": "0"}, "set[1].silicon.total_us"),
        ({"silicon": "nan"}, "set[1].silicon.total_us"),
        ({"silicon": "inf"}, "set[1].silicon.total_us"),
        ({"method": "script"}, "set[1]: "),
        ({"more": USUAL["more"] + '\nbuilt_of = "sh build.sh"'}, "set[1].built_of"),
        ({"more": ""}, "workload and profile are for the method row, which needs both"),
        ({"relation": "other conditions"}, "need a note"),
        ({"id": "Bad Id"}, "set[1].id is 'Bad Id'"),
        ({"more": USUAL["more"] + '\nchosen_by = ["x"]'}, "chosen_by has 'x', which is not a figure of the set"),
        ({"more": USUAL["more"] + "\nboards = 3"}, "set[1].boards"),
    ],
)
def test_a_slip_is_one_line_with_the_set(entry: dict[str, str], says: str, tmp_path: Path) -> None:
    with pytest.raises(PortbenchError) as caught:
        load(written(tmp_path, entry))
    assert says in str(caught.value) and "silicon.toml" in str(caught.value) and "\n" not in str(caught.value)


def test_two_sets_of_one_id_and_unknown_keys_are_refused(tmp_path: Path) -> None:
    with pytest.raises(PortbenchError, match="a-set is there twice"):
        load(written(tmp_path, {}, {}))
    with pytest.raises(PortbenchError, match="sets is 1; the key is unknown, remove it"):
        load(written(tmp_path, {}, head="sets = 1\n"))


def test_what_cannot_be_compared_says_why(tmp_path: Path) -> None:
    entries = load_not_compared()
    assert len({each.id for each in entries}) == len(entries) > 5
    path = tmp_path / "silicon.toml"
    path.write_text('[[not_compared]]\nid = "a"\nwhat = "b"\nsource = "c"\nsilicon = "d"\n', encoding="utf-8")
    with pytest.raises(PortbenchError, match=r"not_compared\[1\]\.because is absent; add it; correct it"):
        load_not_compared(path)


def test_the_file_is_there() -> None:
    assert FILE.is_file()


def test_rows_are_what_their_workloads_publish() -> None:
    """The middle of the runs that the workload's own file has, or the first where `source` says so."""
    for each in load():
        if each.workload is None:
            continue
        published = read_published(workload(each.workload).folder)
        every = [firmware for source in published for firmware in source.firmware]
        if each.id.startswith("network-"):
            every = [row for row in every if (f"network-{row.runtime}", row.profile) == (each.id, each.profile)]
        chosen = (lambda runs: runs[0]) if "first of" in each.source else statistics.median
        assert any(
            row.figures.keys() >= each.silicon.keys()
            and all(
                silicon == pytest.approx(chosen(row.figures[name]) * each.scale)
                for name, silicon in each.silicon.items()
            )
            for row in every
        ), each.id
