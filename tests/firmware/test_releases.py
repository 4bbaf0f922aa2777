"""Releases are read from the makers' lists, kept for a day, and chosen by version."""

import re
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from types import MappingProxyType

import pytest

from portbench.boards import known_boards
from portbench.boards.releases import named, target
from portbench.errors import PortbenchError
from portbench.firmware import catalogue
from portbench.firmware.catalogue import CATALOGUE_PATH, Family, Profile
from portbench.firmware.releases import SHIPPED, Release, ReleaseIndex
from tests.firmware.conftest import Answer, Site, serving

BOARD = target(known_boards()["W5500_EVB_PICO"])
RADIO = target(known_boards()["RPI_PICO_W"])
KNOWN = catalogue.load(CATALOGUE_PATH)

# In the form of the sites: links on a page, and the keys of ListObjectsV2 with nightly builds among them.
MICROPYTHON_PAGE = """
<h2>Firmware</h2><h3>Releases</h3>
<strong><a href="/resources/firmware/W5500_EVB_PICO-20260824-v1.29.0.uf2">v1.29.0 (2026-08-24) .uf2</a></strong>
/ <a href="/resources/firmware/W5500_EVB_PICO-20260824-v1.29.0.elf">[.elf]</a><br>
<a href="/resources/firmware/W5500_EVB_PICO-20260406-v1.28.0.uf2">v1.28.0 (2026-04-06) .uf2</a><br>
<a href="/resources/firmware/W5500_EVB_PICO-20241129-v1.24.1.uf2">v1.24.1 (2024-11-29) .uf2</a><br>
<a href="/resources/firmware/W5500_EVB_PICO2-20260901-v1.29.1.uf2">another board</a><br>
<h3>Preview builds</h3>
<a href="/resources/firmware/W5500_EVB_PICO-20260904-v1.30.0-preview.58.g14e9793c91.uf2">v1.30.0-preview.58</a><br>
<a href="/resources/firmware/W5500_EVB_PICO-20260827-v1.30.0-preview.8.gf668077be2.uf2">v1.30.0-preview.8</a><br>
"""
KEY = "bin/wiznet_w5500_evb_pico/en_US/adafruit-circuitpython-wiznet_w5500_evb_pico-en_US-"
BUCKET = {
    "": ("10.1.4", "20260301-main-PR10101-abcdef0", "<NextContinuationToken>1/a+b=</NextContinuationToken>"),
    "continuation-token=1%2Fa%2Bb%3D": ("10.3.0-rc.0", "9.2.9", ""),
}


class Sites(Site):
    """Both sites, on one port of this machine."""

    def __init__(self) -> None:
        super().__init__()
        self.texts = {"/download/W5500_EVB_PICO/": MICROPYTHON_PAGE}
        for query, (first, second, token) in BUCKET.items():
            keys = "".join(f"<Contents><Key>{KEY}{each}.uf2</Key></Contents>" for each in (first, second))
            address = "/?list-type=2&prefix=bin/wiznet_w5500_evb_pico/en_US/" + (query and f"&{query}")
            self.texts[address] = f"<?xml version='1.0'?><ListBucketResult>{keys}{token}</ListBucketResult>"

    def answer(self, path: str) -> Answer:
        page = self.texts.get(path)
        return (404 if page is None else 200, (page or "").encode(), 0)

    @property
    def asked(self) -> list[str]:
        return [request for request in self.requests if request.startswith("GET")]

    @property
    def addresses(self) -> MappingProxyType[Family, str]:
        here = f"http://127.0.0.1:{self.server_port}/"
        return MappingProxyType({Family.MICROPYTHON: here, Family.CIRCUITPYTHON: here})


@pytest.fixture
def sites() -> Iterator[Sites]:
    yield from serving(Sites())


def index(sites: Sites, folder: Path, today: date = date(2026, 10, 1), offline: bool = False) -> ReleaseIndex:
    return ReleaseIndex(folder, offline, sites.addresses, lambda: today)


def versions(index: ReleaseIndex, selector: str) -> list[str]:
    return [str(entry.version) for entry in index.select(selector, BOARD, KNOWN)]


def test_the_newest_release_of_the_makers_list_is_chosen(sites: Sites, tmp_path: Path) -> None:
    found = index(sites, tmp_path)
    (latest,) = found.select("micropython@latest", BOARD, KNOWN)
    assert (latest.id, latest.board, latest.sha256) == ("micropython-1.29.0", "W5500_EVB_PICO", None)
    assert latest.url == f"{sites.addresses[Family.MICROPYTHON]}resources/firmware/W5500_EVB_PICO-20260824-v1.29.0.uf2"
    assert [each.name for each in latest.profiles] == ["as-published", "tuned"]
    assert versions(found, "micropython@preview") == ["1.30.0-preview.58.g14e9793c91"]
    assert versions(found, "circuitpython@latest") == ["10.1.4"]
    assert versions(found, "circuitpython@preview") == ["10.3.0-rc.0"]
    assert versions(found, "circuitpython@9") == ["9.2.9"]
    assert found.remarks[0] == "micropython@latest: 1.29.0 (list of 2026-10-01)"
    assert len(sites.asked) == 3


FILE = KEY.rpartition("/")[2] + "11.0.0.uf2"
PAGE_FILE = "W5500_EVB_PICO-20261001-v1.31.0.uf2"


@pytest.mark.parametrize(
    "key",
    [
        "//evil.example/",
        "http://evil.example/",
        "file:///etc/",
        "bin/other/en_US/",
        "bin/wiznet_w5500_evb_pico/en_US/../",
    ],
)
def test_a_list_names_only_files_of_its_own_folder(key: str, sites: Sites, tmp_path: Path) -> None:
    (first, *_) = (each for each in sites.texts if each.startswith("/?"))
    sites.texts[first] += f"<Key>{key}{FILE}</Key>"
    sites.texts["/download/W5500_EVB_PICO/"] += (
        f'<a href="{key}{PAGE_FILE}"><a href="/resources/firmware/{key}{PAGE_FILE}">'
    )
    found = index(sites, tmp_path)
    assert versions(found, "circuitpython@latest") == ["10.1.4"]
    assert versions(found, "micropython@latest") == ["1.29.0"]
    assert not any(key in each.read_text() for each in tmp_path.iterdir())


def test_a_range_has_all_stable_releases_of_both_ends(sites: Sites, tmp_path: Path) -> None:
    found = index(sites, tmp_path)
    assert versions(found, "micropython@1.24..1.28") == ["1.24.1", "1.26.0", "1.28.0"]  # 1.26.0 is the catalogue's
    assert versions(found, "micropython@1.28.0..1.29.0") == ["1.28.0", "1.29.0"]
    assert versions(found, "micropython@1.28") == ["1.28.0"]
    assert versions(found, "micropython@1.30.0-preview.8.gf668077be2") == ["1.30.0-preview.8.gf668077be2"]


def test_the_catalogues_own_entry_is_used_with_its_hash(sites: Sites, tmp_path: Path) -> None:
    (entry,) = index(sites, tmp_path).select("micropython@1.26", BOARD, KNOWN)
    assert entry == KNOWN.get("micropython-1.26.0")


def test_a_list_is_asked_for_once_a_day(sites: Sites, tmp_path: Path) -> None:
    for _ in range(2):
        assert versions(index(sites, tmp_path), "micropython@latest") == ["1.29.0"]
    assert len(sites.asked) == 1
    sites.texts["/download/W5500_EVB_PICO/"] = MICROPYTHON_PAGE.replace("20260824-v1.29.0", "20261002-v1.29.1")
    assert versions(index(sites, tmp_path, date(2026, 10, 2)), "micropython@latest") == ["1.29.1"]


def test_without_the_site_the_newest_list_here_is_used(sites: Sites, tmp_path: Path) -> None:
    assert versions(index(sites, tmp_path), "micropython@latest") == ["1.29.0"]
    sites.texts.clear()
    later = index(sites, tmp_path, date(2026, 10, 2))
    assert versions(later, "micropython@latest") == ["1.29.0"]
    assert later.remarks == ["micropython@latest: 1.29.0 (list of 2026-10-01; the server answers 404 Not Found)"]
    fresh = index(sites, tmp_path / "none", date(2026, 10, 2))
    assert versions(fresh, "micropython@latest") == ["1.28.0"]  # as shipped
    assert "list of 2026-04-06" in fresh.remarks[0]


def test_the_newer_one_of_the_cached_and_the_shipped_list_counts(tmp_path: Path) -> None:
    url = "https://micropython.org/resources/firmware/W5500_EVB_PICO-20241129-v1.24.1.uf2"
    for seen, wanted in (("2026-01-01", date(2026, 4, 6)), ("2026-09-01", date(2026, 9, 1))):
        (tmp_path / "micropython-W5500_EVB_PICO.toml").write_text(f'seen = {seen}\nurls = ["{url}"]\n')
        assert ReleaseIndex(tmp_path, offline=True).listing(Family.MICROPYTHON, BOARD, KNOWN).seen == wanted


def test_offline_asks_nobody(sites: Sites, tmp_path: Path) -> None:
    assert versions(index(sites, tmp_path, offline=True), "micropython@latest") == ["1.28.0"]
    assert sites.asked == []


def test_a_page_without_releases_is_no_list(sites: Sites, tmp_path: Path) -> None:
    sites.texts["/download/W5500_EVB_PICO/"] = "<h1>Down for maintenance</h1>"
    found = index(sites, tmp_path)
    assert versions(found, "micropython@latest") == ["1.28.0"]
    assert "lists no release for W5500_EVB_PICO" in found.remarks[0]
    assert not list(tmp_path.iterdir())


def test_a_damaged_cache_is_written_anew(sites: Sites, tmp_path: Path) -> None:
    for text in ("", "seen = 3\nurls = []", "urls = [", "seen = 2026-01-01\nurls = [3]"):
        (tmp_path / "micropython-W5500_EVB_PICO.toml").write_text(text)
        assert versions(index(sites, tmp_path), "micropython@latest") == ["1.29.0"]


@pytest.mark.parametrize(
    ("selector", "said"),
    [
        ("wiznet@latest", r"^wiznet@latest: 'wiznet' has no list of releases; write micropython@latest, "),
        ("micropython@new", r"^micropython@new: 'new' is not a version; write micropython@latest, "),
        ("micropython@", r"^micropython@: '' is not a version; "),
        ("micropython@1.28..", r"^micropython@1\.28\.\.: '1\.28\.\.' is not a version; "),
        (
            "micropython@3",
            r"^micropython@3: W5500_EVB_PICO has no such release \(list of 2026-04-06\); the newest are: ",
        ),
    ],
)
def test_a_selector_without_a_release_says_what_there_is(
    sites: Sites, tmp_path: Path, selector: str, said: str
) -> None:
    with pytest.raises(PortbenchError, match=said):
        index(sites, tmp_path, offline=True).select(selector, BOARD, KNOWN)


def test_ids_name_the_board_and_are_found_again(tmp_path: Path) -> None:
    (entry,) = ReleaseIndex(tmp_path, offline=True).select("micropython@1.27.0", RADIO, KNOWN)
    assert entry.id == "micropython-pico-w-1.27.0"
    assert entry.profiles == (Profile("as-built"), Profile("no-power-save", power_save=False))
    assert named(entry.id, KNOWN) == entry
    with pytest.raises(PortbenchError, match=r"unknown runtime 'micropython-pico-w-9\.9\.9'"):
        named("micropython-pico-w-9.9.9", KNOWN)


def test_the_shipped_lists_are_releases_of_their_boards() -> None:
    lists = catalogue.parse_toml(SHIPPED.read_text(encoding="utf-8"), SHIPPED)["list"]
    assert {each["name"] for each in lists} >= {name for board in (BOARD, RADIO) for name in board.names.values()}
    for each in lists:
        for url in each["urls"]:
            found = Release.of(each["start"] + url)
            assert found is not None and (found.family, found.name) == (each["family"], each["name"]), url
            assert re.match(r"https://(micropython\.org|downloads\.circuitpython\.org)/", found.url)
