"""Workloads are found by listing; whatever is wrong with a user's is one line that names the file."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from portbench import workloads as package
from portbench.errors import UnknownName
from portbench.workloads import WORKLOADS_VARIABLE, Foreign, Native, Workload, workload, workloads
from portbench.workloads.native import native_image
from tests.workloads.own import FOLDER

OURS = Path(package.__file__).parent

MakeRoot = Callable[..., Path]


@pytest.fixture
def make_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MakeRoot:
    """A folder with workloads in it, by name and text; the variable names all that were made so far."""
    roots: list[Path] = []

    def make(**scripts: str) -> Path:
        root = tmp_path / f"root-{len(roots)}"
        root.mkdir()
        for name, text in scripts.items():
            (root / name).mkdir()
            (root / name / "workload.py").write_text(text, encoding="utf-8")
        roots.append(root)
        monkeypatch.setenv(WORKLOADS_VARIABLE, os.pathsep.join(map(str, roots)))
        return root

    return make


def refusal(find: Callable[[], object] = workloads) -> str:
    with pytest.raises(UnknownName) as caught:
        find()
    line = str(caught.value)
    assert "\n" not in line
    return line


def test_ours_are_the_folders_beside_the_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(WORKLOADS_VARIABLE, raising=False)
    assert set(workloads()) == {path.parent.name for path in OURS.glob("*/workload.py")}
    assert next(iter(workloads())) == "ping_pong"


@pytest.mark.parametrize("name", workloads())
def test_each_keeps_the_contract(name: str) -> None:
    """Check the parts of a workload that a table, an option and a page of ours read."""
    each = workload(name)
    assert each.folder.resolve() == (OURS / name).resolve() and each is workloads()[name]
    assert each.title and (each.folder / "README.md").is_file()
    assert list((Path(__file__).parent / name).glob("test_*.py"))
    assert each.body("micropython") or each.body("circuitpython") or isinstance(each, Foreign)
    assert isinstance(each, Native) is (native_image(each) is not None)
    assert isinstance(each, Native) is (each.folder / "native.uf2").is_file()
    assert each.body("cobol") is None
    assert isinstance(each.quick(), each.settings_type)
    assert all(field.description for field in each.settings_type.model_fields.values())
    assert each.exchanges(each.quick()) <= each.exchanges(each.settings_type())


@pytest.mark.usefixtures("own_workloads")
def test_a_users_come_after_those_that_are_measured_by_default() -> None:
    found = workloads()
    assert {"echo", "spin"} < set(found)
    assert list(found) == sorted(found, key=lambda name: (not found[name].by_default, name))
    assert workload("spin").folder == FOLDER / "spin"


@pytest.mark.usefixtures("own_workloads")
def test_a_users_workload_may_be_of_several_files() -> None:
    conversation = workload("echo").conversation(100)
    assert conversation.receive(b"abc") == b"abc" and conversation.exchanges == 1


def test_several_folders_and_empty_parts_of_the_variable(make_root: MakeRoot, monkeypatch: pytest.MonkeyPatch) -> None:
    empty = make_root()
    monkeypatch.setenv(WORKLOADS_VARIABLE, os.pathsep.join(["", str(empty), str(FOLDER), ""]))
    assert "spin" in workloads()


def test_folders_without_the_script_are_no_workloads(make_root: MakeRoot) -> None:
    root = make_root()
    (root / "notes").mkdir()
    (root / "workload.py").write_text("raise SystemExit")
    assert "notes" not in workloads()


def test_an_unknown_name_lists_the_known_ones() -> None:
    line = refusal(lambda: workload("pong"))
    assert line.startswith("unknown workload 'pong': there are ") and "ping_pong" in line


def test_a_folder_that_is_not_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(WORKLOADS_VARIABLE, str(tmp_path / "absent"))
    named = f"{WORKLOADS_VARIABLE}: {tmp_path / 'absent'} is not a folder; name the folder that holds workloads"
    assert refusal() == refusal(lambda: workload("ping_pong")) == named


@pytest.mark.parametrize("name", ["Spin", "2spin", "_spin", "my-spin", "my spin", "späne"])
def test_a_name_that_could_be_no_name_of_a_function(name: str, make_root: MakeRoot) -> None:
    root = make_root(**{name: ""})
    assert refusal() == f"{root / name}: is not a name of a workload; use letters a to z, digits and _"


def test_two_of_one_name(make_root: MakeRoot) -> None:
    first, second = make_root(twice_there=""), make_root(twice_there="")
    assert refusal() == f"{second / 'twice_there'}: {first / 'twice_there'} has that name already; rename one of them"


def test_one_named_as_ours(make_root: MakeRoot) -> None:
    root = make_root(ping_pong="")
    assert refusal() == f"{root / 'ping_pong'}: {OURS / 'ping_pong'} has that name already; rename one of them"


@pytest.mark.parametrize("name", ["session", "registry", "conversation", "workload"])
def test_one_named_as_a_file_of_the_contract(name: str, make_root: MakeRoot) -> None:
    root = make_root(**{name: ""})
    assert refusal() == f"{root / name}: {OURS / name}.py has that name already; rename one of them"


@pytest.mark.parametrize(
    ("name", "text", "part"),
    [
        ("broken_empty", "", "cannot be used (AttributeError: "),
        ("broken_syntax", "def (:\n", "cannot be used (SyntaxError: "),
        ("broken_import", "import no_such_module", "cannot be used (ModuleNotFoundError: No module named 'no_such"),
        ("broken_lines", "raise ValueError('one\\ntwo')", "cannot be used (ValueError: one two)"),
        ("broken_exit", "import sys; sys.exit('enough')", "cannot be used (SystemExit: enough)"),
        ("broken_number", "WORKLOAD = 7", "WORKLOAD is not a workload called 'broken_number'; name it as its folder"),
        (
            "broken_name",
            "from portbench.workloads.ping_pong.workload import WORKLOAD",
            "WORKLOAD is not a workload called 'broken_name'; name it as its folder",
        ),
        (
            "broken_class",
            "from portbench.workloads import Workload\nclass Mine(Workload): pass\nWORKLOAD = Mine()",
            "cannot be used (TypeError: ",
        ),
        ("broken_bytes", "\udcff", "cannot be used (SyntaxError: "),
    ],
)
def test_a_broken_file(name: str, text: str, part: str, make_root: MakeRoot) -> None:
    root = make_root()
    (root / name).mkdir()
    (root / name / "workload.py").write_bytes(text.encode("utf-8", "surrogateescape"))
    for find in (workloads, lambda: workload(name)):
        line = refusal(find)
        assert line.startswith(f"{root / name / 'workload.py'}: ") and part in line


def test_a_broken_one_does_not_stand_in_anothers_way(make_root: MakeRoot) -> None:
    make_root(broken_elsewhere="raise ValueError")
    assert isinstance(workload("ping_pong"), Workload)
