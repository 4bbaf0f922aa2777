"""The catalogue that is shipped is whole; a bad one gives one line naming file, entry, value and fix."""

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portbench.errors import PortbenchError
from portbench.firmware import catalogue
from portbench.firmware.catalogue import CATALOGUE_PATH, CATALOGUE_VARIABLE, Family, Profile
from portbench.firmware.download import Reachability

TEXT = catalogue.CATALOGUE_PATH.read_text(encoding="utf-8")
WHERE = Path("some.toml")
OWN = """
[[image]]
id = "{id}"
family = "micropython"
board = "W5500_EVB_PICO"
version = "0.1"
file = "mine.uf2"
url = "https://example.org/mine.uf2"
profiles = [{{ name = "tuned", settings.spin = {{ passes = 7 }} }}]
"""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user who has no catalogue yet; where it would be."""
    monkeypatch.delenv(CATALOGUE_VARIABLE, raising=False)
    monkeypatch.setattr("portbench.toml_files.user_config_path", lambda name: tmp_path / "config" / name)
    (tmp_path / "config" / "portbench").mkdir(parents=True)
    return tmp_path / "config" / "portbench" / "catalogue.toml"


def test_a_users_catalogues_follow_ours(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ours = [entry.id for entry in catalogue.load()]
    home.write_text(OWN.format(id="at-home"))
    named = [tmp_path / "one.toml", tmp_path / "two.toml"]
    for path in named:
        path.write_text(OWN.format(id=path.stem))
    monkeypatch.setenv(CATALOGUE_VARIABLE, os.pathsep.join(map(str, named)))
    known = catalogue.load()
    assert [entry.id for entry in known] == [*ours, "one", "two", "at-home"]
    assert known.paths == (CATALOGUE_PATH, *named, home)
    assert known.get("one").profiles == (Profile("tuned", settings={"spin": {"passes": 7}}),)


def test_a_users_catalogue_may_not_take_an_id_that_is_used(home: Path) -> None:
    home.write_text(OWN.format(id="wiznet-2.0.0"))
    with pytest.raises(PortbenchError) as caught:
        catalogue.load()
    assert str(caught.value) == f"{home}: image 'wiznet-2.0.0': the id is taken by {CATALOGUE_PATH}; use another"


def test_a_users_catalogue_that_is_wrong_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = tmp_path / "mine.toml"
    monkeypatch.setenv(CATALOGUE_VARIABLE, str(mine))
    with pytest.raises(PortbenchError, match=r"^.*mine\.toml: cannot be read \(No such file or directory\); correct"):
        catalogue.load()
    mine.write_text(OWN.format(id="mine").replace("0.1", ""))
    with pytest.raises(PortbenchError) as caught:
        catalogue.load()
    assert str(caught.value).startswith(f"{mine}: image 'mine': version is ''; ")


def test_shipped_catalogue() -> None:
    entries = {entry.id: entry for entry in catalogue.load()}
    assert entries.keys() >= {
        "micropython-1.20.0",
        "micropython-1.26.0",
        "micropython-1.28.0",
        "wiznet-1.0.5",
        "wiznet-2.0.0",
        "wiznet-hardwired",
        "circuitpython-8.2.6",
        "circuitpython-9.1.4",
        "portbench-native",
        "micropython-unix",
        "circuitpython-blinka",
    }
    as_published, tuned = entries["micropython-1.20.0"].profiles
    assert (as_published.name, as_published.spi_hz, as_published.intn) == ("as-published", 2_000_000, False)
    assert (tuned.name, tuned.spi_hz, tuned.intn) == ("tuned", None, True)
    offers = entries["wiznet-hardwired"].offers
    assert offers is not None and (offers.maintained, offers.tcp_sockets) == (False, 8)
    assert [profile.spi_hz for profile in entries["wiznet-hardwired"].profiles] == [2_000_000, 20_000_000]
    for entry in entries.values():
        if entry.family not in (Family.HOSTED, Family.NATIVE, Family.FOREIGN):
            own_name = entry.id not in ("wiznet-1.27.0", "micropython-pico2-1.25.0-preview.393")
            named = entry.file if own_name else "firmware.uf2"
            assert entry.url is not None and entry.file is not None and entry.url.endswith(f"/{named}")


def test_unknown_runtime_names_the_nearest() -> None:
    with pytest.raises(PortbenchError, match=r"catalogue\.toml: unknown runtime 'wiznet-hard'.*wiznet-hardwired"):
        catalogue.load().get("wiznet-hard")


@pytest.mark.parametrize(
    ("old", "new", "parts"),
    [
        ("spi_hz = 2_000_000", 'spi_hz = "2"', ["micropython-1.20.0", "profiles[1].spi_hz", "'2'", "integer"]),
        ("spi_hz = 2_000_000", "spi_hz = -2", ["profiles[1].spi_hz is -2", "greater than 0"]),
        ("intn = false", "intn = 0", ["profiles[1].intn is 0", "boolean"]),
        ("intn = false", "intm = false", ["profiles[1].intm is False", "unknown"]),
        ('family = "wiznet"', 'family = "wiz"', ["wiznet-1.0.5", "'wiz'", "circuitpython"]),
        ('family = "wiznet"', "family = [1]", ["wiznet-1.0.5", "[1]"]),
        ('board = "', 'bord = "', ["micropython-1.20.0", "'bord'", "'W5500_EVB_PICO'", "board"]),
        ('version = "1.20.0"\n', "", ["micropython-1.20.0", "'version' is missing"]),
        ('id = "micropython-1.26.0"', 'id = "micropython-1.20.0"', ["used twice"]),
        ('id = "micropython-1.26.0"', 'id = "Micro Python"', ["id is 'Micro Python'"]),
        ('sha256 = "9', 'sha256 = "X', ["micropython-1.26.0", "sha256 is 'X6"]),
        ("[[image]]", "[[image", ["some.toml: is not TOML", "line"]),
        ("[[image]]", "images = 1\n[[image]]", ["unknown key 'images'"]),
        ('file = "W', 'file = "../W', ["file is '../W", "plain"]),
        ('url = "https://', 'url = "file:///', ["url is 'file:///"]),
        ("released = 2023-04-26", "released = 2023", ["offers.released is 2023"]),
        ("maintained = true", "maintained = 1", ["offers.maintained is 1"]),
        ("tcp_sockets = 5", "sockets = 5", ["offers.sockets is 5; the key is unknown"]),
        ("tcp_sockets = 5", "tcp_sockets = -5", ["offers.tcp_sockets is -5"]),
        ("intn = true", "intn = true\nsettings = 3", ["profiles[2].settings is 3"]),
        ("intn = true", "intn = true\nsettings.ping_pong = 3", ["profiles[2].settings.ping_pong is 3"]),
        ('name = "tuned"', 'name = "as-published"', ["profile 'as-published' is given twice"]),
        ('name = "tuned"', 'name = "Tuned up"', ["profiles[2].name is 'Tuned up'"]),
        ("spi_hz = 20_000_000", "intn = true", ["wiznet-1.0.5", "intn is set"]),
        ('\n[[image.profiles]]\nname = "hosted"\n', "profiles = []\n", ["micropython-unix", "profiles is []"]),
    ],
)
def test_bad_catalogue_gives_one_line(old: str, new: str, parts: list[str]) -> None:
    assert old in TEXT
    with pytest.raises(PortbenchError) as caught:
        catalogue.parse(TEXT.replace(old, new, 1), WHERE)
    text = str(caught.value)
    assert text.startswith("some.toml: ") and "\n" not in text and ";" in text
    for part in parts:
        assert part in text


@pytest.mark.parametrize("text", ["", "image = []", "image = 3", "image = [1]"])
def test_catalogue_without_entries(text: str) -> None:
    with pytest.raises(PortbenchError, match=r"no \[\[image\]\] entry"):
        catalogue.parse(text, WHERE)


def test_unreadable_catalogue(tmp_path: Path) -> None:
    with pytest.raises(PortbenchError, match=r"absent\.toml: cannot be read"):
        catalogue.load(tmp_path / "absent.toml")
    (tmp_path / "latin.toml").write_bytes(b"\xe9")
    with pytest.raises(PortbenchError, match="byte 0 is not UTF-8"):
        catalogue.load(tmp_path / "latin.toml")


def test_control_characters_in_keys_stay_on_one_line() -> None:
    with pytest.raises(PortbenchError) as caught:
        catalogue.parse(TEXT.replace("intn = false", '"in\\nn" = false', 1), WHERE)
    assert "\n" not in str(caught.value) and r"profiles[1].in\nn" in str(caught.value)


@given(st.integers(0, len(TEXT) - 1), st.integers(0, 60), st.text(max_size=8))
def test_mutated_catalogue_is_read_or_refused_in_one_line(at: int, cut: int, insert: str) -> None:
    try:
        catalogue.parse(TEXT[:at] + insert + TEXT[at + cut :], WHERE)
    except PortbenchError as error:
        assert str(error).startswith("some.toml: ") and "\n" not in str(error)


ENTRY = """[[image]]
id = "a-1"
family = "micropython"
board = "W5500_EVB_PICO"
version = "1.26.0"
file = "x.uf2"
url = "http://HOST/x.uf2"
[[image.profiles]]
name = "tuned"
"""


@pytest.mark.parametrize(
    "host", ["h:99999999", "[1:9", "a b", "h:port", "a..b", "h:0", "ü" * 70, "\\u0000", ":80", "user@"]
)
def test_an_address_that_cannot_be_is_refused(host: str) -> None:
    with pytest.raises(PortbenchError, match=r"^some\.toml: image 'a-1': url is '.*\; give a valid address: "):
        catalogue.parse(ENTRY.replace("HOST", host), WHERE)


def test_a_file_name_may_have_a_plus() -> None:
    text = ENTRY.replace("HOST", "h").replace("x.uf2", "a+b.uf2")
    assert catalogue.parse(text, WHERE).get("a-1").file == "a+b.uf2"


@pytest.mark.parametrize("host", ["h", "h:8000", "[::1]:80", "münchen.example", "user:word@h", "10.0.0.1"])
def test_an_address_that_can_be_is_taken(host: str) -> None:
    assert catalogue.parse(ENTRY.replace("HOST", host), WHERE).get("a-1").url == f"http://{host}/x.uf2"


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ("spi_hz = 999999999999999999999\n", "profiles[1].spi_hz is 999999999999999999999; input should be less than"),
        (f"spi_hz = {'9' * 400}\n", "profiles[1].spi_hz is 999999999999"),
        (f"spi_hz = {'9' * 5000}\n", "some.toml: is not TOML (Exceeds the limit"),
        ("spi_hz = 99999-01-01\n", "some.toml: is not TOML"),
    ],
)
def test_a_number_that_is_too_large_is_refused(more: str, says: str) -> None:
    with pytest.raises(PortbenchError) as error:
        catalogue.parse(ENTRY.replace("HOST", "h") + more, WHERE)
    assert says in str(error.value) and "\n" not in str(error.value) and len(str(error.value)) < 300


def test_a_host_that_nobody_can_look_up_is_no_traceback() -> None:
    def ask(origin: str) -> None:
        raise UnicodeError("label empty or too long")

    reachability = Reachability(["http://a..b/x.uf2"], ask=ask)
    assert reachability.fault("http://a..b/x.uf2") == "no internet (a..b: is not a host's name)"
