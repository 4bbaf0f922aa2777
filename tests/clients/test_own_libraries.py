"""Libraries of the user: read from a folder, a file or a wheel, and put in the place of the pinned ones."""

import re
import zipfile
from pathlib import Path

import pytest

from portbench.clients import ClientNetwork, build_deployment
from portbench.clients import deployment as module
from portbench.clients.own_libraries import OwnLibrary, libraries_of_sides, read_library, with_own
from portbench.errors import OptionError, Unsupported
from tests.ping_pong import EVB, PING_PONG, settings

PINNED = {
    "lib/adafruit_wiznet5k/__init__.py": b"",
    "lib/adafruit_wiznet5k/adafruit_wiznet5k.py": b"import adafruit_ticks",
    "lib/adafruit_ticks.py": b"",
}
RELEASED = {"thing/__init__.py": b'__version__ = "1.2"\n', "thing/a/b.mpy": b"M\x06"}


def written(folder: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


@pytest.mark.parametrize(
    ("path", "name", "files", "version"),
    [
        ("tree/thing", "thing", RELEASED, "1.2"),
        ("tree", "thing", RELEASED, "1.2"),
        ("around", "thing", {"thing.py": b"__version__ = '0.0.0+auto.0'"}, ""),
        ("thing-1.3-py3-none-any.whl", "thing", RELEASED, "1.3"),
        ("tree/umqtt/simple.py", "umqtt.simple", {"umqtt/simple.py": b"a = 1"}, ""),
        ("tree", "umqtt.simple", {"umqtt/simple.py": b"a = 1"}, ""),
        ("tree/thing/a/b.mpy", "other", {"other.mpy": b"M\x06"}, ""),
    ],
)
def test_a_library_is_found_where_its_maintainer_has_it(
    path: str, name: str, files: dict[str, bytes], version: str, tmp_path: Path
) -> None:
    left_out = {"thing/README.md": b"", "setup.py": b"", "umqtt/simple.py": b"a = 1"}
    written(tmp_path / "tree", RELEASED | left_out)
    written(tmp_path / "around" / "src", {"thing.py": b"__version__ = '0.0.0+auto.0'"})
    with zipfile.ZipFile(tmp_path / "thing-1.3-py3-none-any.whl", "w") as wheel:
        for inside, content in (RELEASED | {"thing-1.3.dist-info/METADATA": b""}).items():
            wheel.writestr(inside, content)
    found = read_library(f"{name}={tmp_path / path}")
    assert (found.name, found.files, found.version) == (name, files, version)
    assert re.fullmatch(rf"{version} ?\({found.sha256[:12]}\)", found.identity)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a-b=x", "'a-b=x' is not NAME=PATH; write the name that programs import, as adafruit_wiznet5k=FOLDER"),
        ("thing=nowhere.py", "nowhere.py: is no library; name a folder, a .py, an .mpy or a .whl file"),
        ("thing=notes.txt", "notes.txt: is no library; name a folder, a .py, an .mpy or a .whl file"),
        ("thing=bad.whl", "bad.whl: cannot be read (File is not a zip file); name another file"),
        ("thing=empty", "empty: has no thing.py, thing.mpy or thing/; name its folder"),
    ],
)
def test_bad_input_has_one_line(text: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(written(tmp_path, {"notes.txt": b"", "bad.whl": b"", "empty/setup.py": b""}))
    with pytest.raises(OptionError) as caught:
        read_library(text)
    assert str(caught.value) == f"--library: {said}"


def test_a_library_takes_the_place_of_the_pinned_one() -> None:
    """Equal files in equal order give equal figures."""
    same = OwnLibrary("adafruit_wiznet5k", "", {name[4:]: PINNED[name] for name in list(PINNED)[:2]})
    assert list(with_own(PINNED, [same], "lib/").items()) == list(PINNED.items())
    single = OwnLibrary("adafruit_ticks", "", {"adafruit_ticks.mpy": b"M"})
    assert list(with_own(PINNED, [single], "lib/")) == [*list(PINNED)[:2], "lib/adafruit_ticks.mpy"]
    part = OwnLibrary("adafruit_wiznet5k.adafruit_wiznet5k", "", {"adafruit_wiznet5k/adafruit_wiznet5k.py": b"new"})
    assert with_own(PINNED, [part], "lib/") == PINNED | {list(PINNED)[1]: b"new"}
    with pytest.raises(Unsupported, match=r"^nothing here imports ticks; choose a workload that does, or leave out"):
        with_own(PINNED, [OwnLibrary("ticks", "", {"ticks.py": b""})], "lib/")


@pytest.mark.parametrize(
    ("given", "alike", "sides"),
    [
        (("a=1", "a=2"), True, (("a=1",), ("a=2",))),
        (("b=0", "a=1", "a=2"), True, (("b=0", "a=1"), ("b=0", "a=2"))),
        (("a=1", "b=0"), True, ((), ("a=1", "b=0"))),
        (("a=1", "b=0"), False, (("a=1", "b=0"), ("a=1", "b=0"))),
        ((), True, ((), ())),
    ],
)
def test_each_side_has_its_libraries(given: tuple[str, ...], alike: bool, sides: object) -> None:
    assert libraries_of_sides(given, alike=alike) == sides


def test_three_of_one_name_are_refused() -> None:
    with pytest.raises(OptionError, match=r"^--library: a is given 3 times; give A's and B's$"):
        libraries_of_sides(("a=1", "a=2", "a=3"), alike=True)


def test_a_board_gets_the_users_library(network: ClientNetwork, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "library_files", lambda major, timeout_s: dict(PINNED))
    own = OwnLibrary("adafruit_wiznet5k", "", {"adafruit_wiznet5k.py": b"own"})
    client = "9.1.4", EVB, PING_PONG, settings(5), network
    usual = build_deployment("circuitpython", *client).files
    changed = dict(build_deployment("circuitpython", *client, libraries=[own]).files)
    assert set(usual) - set(changed) == {name for name in PINNED if "wiznet5k" in name}
    assert changed.pop("lib/adafruit_wiznet5k.py") == b"own" and changed.items() < usual.items()
    with pytest.raises(Unsupported, match=r"^nothing here imports adafruit_wiznet5k; choose a workload"):
        build_deployment("micropython", *client, libraries=[own])
