"""Images come from folder, cache or download in that order; tampered or missing ones give one line each."""

import hashlib
import json
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from portbench.errors import PortbenchError
from portbench.firmware import FOLDER_VARIABLE, images, uf2
from portbench.firmware.catalogue import Family, FirmwareEntry
from portbench.firmware.download import Reachability, download
from portbench.firmware.identify import Uf2File, entry_for_file, release
from portbench.firmware.images import LOCK_NAME, ImageStore, ImageUnavailable, Source
from tests.firmware.conftest import Site

IMAGE = uf2.build(b"first light")
OTHER = uf2.build(b"second thoughts")
SHA256 = hashlib.sha256(IMAGE).hexdigest()
FILE = "some-board.uf2"


def entry(url: str = "http://127.0.0.1:9/some-board.uf2", sha256: str | None = None) -> FirmwareEntry:
    return FirmwareEntry(
        id="some-1.0",
        family=Family.MICROPYTHON,
        board="W5500_EVB_PICO",
        profiles=Family.MICROPYTHON.traits.profiles,
        version="1.0",
        file=FILE,
        url=url,
        sha256=sha256,
    )


def store(tmp_path: Path, **options: object) -> ImageStore:
    settings: dict[str, object] = {"cache": tmp_path / "cache", "state": tmp_path / "state"} | options
    return ImageStore(**settings)  # type: ignore[arg-type]


def put(folder: Path, content: bytes) -> Path:
    folder.mkdir(exist_ok=True)
    (folder / FILE).write_bytes(content)
    return folder


def test_folder_comes_before_cache(tmp_path: Path) -> None:
    folder = put(tmp_path / "folder", IMAGE)
    put(tmp_path / "cache", OTHER)
    image = store(tmp_path, folder=folder).obtain(entry(sha256=SHA256))
    assert (image.source, image.path, image.sha256) == (Source.FOLDER, folder / FILE, SHA256)


def test_folder_is_named_by_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PORTBENCH_FIRMWARE_DIR", str(put(tmp_path / "folder", IMAGE)))
    assert store(tmp_path).obtain(entry()).source is Source.FOLDER


@pytest.mark.parametrize(
    ("name", "part"), [("absent", "there is no such folder; create it"), ("a-file", "is not a folder")]
)
def test_bad_folder_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, part: str) -> None:
    (tmp_path / "a-file").touch()
    monkeypatch.setenv("PORTBENCH_FIRMWARE_DIR", str(tmp_path / name))
    with pytest.raises(PortbenchError, match=f"PORTBENCH_FIRMWARE_DIR=.*{name}: {part}"):
        store(tmp_path)


def test_unreadable_folder_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: Path) -> Iterator[Path]:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "iterdir", refuse)
    with pytest.raises(PortbenchError, match=r"cannot be read \(Permission denied\); make it readable"):
        store(tmp_path, folder=tmp_path)


def test_download_goes_to_the_cache_and_is_used_again(tmp_path: Path, site: Site) -> None:
    site.pages[FILE] = [(200, IMAGE, 0)]
    seen: list[tuple[str, int, int]] = []
    first = store(tmp_path, progress=lambda *step: seen.append(step)).obtain(entry(site.url(FILE), SHA256))
    assert (first.source, first.path) == (Source.DOWNLOAD, tmp_path / "cache" / FILE)
    assert seen[-1] == (FILE, len(IMAGE), len(IMAGE))
    assert first.path is not None and first.path.read_bytes() == IMAGE
    again = store(tmp_path).obtain(entry(site.url(FILE), SHA256))
    assert again.source is Source.CACHE
    assert site.requests.count(f"GET /{FILE}") == 1
    assert [path.name for path in (tmp_path / "cache").iterdir()] == [FILE]


def test_broken_download_is_tried_again(tmp_path: Path, site: Site) -> None:
    site.pages[FILE] = [(503, b"busy", 0), (200, IMAGE, 100), (200, IMAGE, 0)]
    assert store(tmp_path).obtain(entry(site.url(FILE), SHA256)).sha256 == SHA256


def test_tries_are_bounded_and_leave_nothing_behind(tmp_path: Path, site: Site) -> None:
    site.pages[FILE] = [(200, IMAGE, 100)]
    with pytest.raises(ImageUnavailable, match="3 tries failed"):
        store(tmp_path).obtain(entry(site.url(FILE), SHA256))
    assert site.requests.count(f"GET /{FILE}") == 3
    assert list((tmp_path / "cache").iterdir()) == []


def test_refusal_by_the_server_is_final(tmp_path: Path, site: Site) -> None:
    with pytest.raises(ImageUnavailable, match="the server answers 404") as caught:
        store(tmp_path).obtain(entry(site.url(FILE)))
    assert site.requests.count(f"GET /{FILE}") == 1
    assert caught.value.command == f"curl -fL --create-dirs -o {tmp_path / 'cache' / FILE} {site.url(FILE)}"
    assert str(caught.value).endswith(f"; provide it: {caught.value.command}")


def test_error_page_is_neither_kept_nor_locked(tmp_path: Path, site: Site) -> None:
    site.pages[FILE] = [(200, b"<html>sign in first</html>", 0)]
    with pytest.raises(uf2.Uf2Error) as caught:
        store(tmp_path).obtain(entry(site.url(FILE)))
    assert caught.value.fault is uf2.Fault.NOT_UF2 and site.url(FILE) in str(caught.value)
    assert list((tmp_path / "cache").iterdir()) == []
    assert not (tmp_path / "state").exists()


def test_download_that_is_tampered_with_is_not_kept(tmp_path: Path, site: Site) -> None:
    site.pages[FILE] = [(200, OTHER, 0)]
    with pytest.raises(PortbenchError, match=SHA256):
        store(tmp_path).obtain(entry(site.url(FILE), SHA256))
    assert list((tmp_path / "cache").iterdir()) == []


def test_known_hash_that_differs_shows_both(tmp_path: Path) -> None:
    folder = put(tmp_path / "folder", OTHER)
    with pytest.raises(PortbenchError) as caught:
        store(tmp_path, folder=folder).obtain(entry(sha256=SHA256))
    text = str(caught.value)
    assert SHA256 in text and hashlib.sha256(OTHER).hexdigest() in text and str(folder / FILE) in text
    assert "some-1.0" in text and "\n" not in text


def test_mismatch_says_when_the_image_is_also_truncated(tmp_path: Path) -> None:
    folder = put(tmp_path / "folder", IMAGE[:-1])
    with pytest.raises(PortbenchError, match="block 0: the file ends after 511 of 512 bytes"):
        store(tmp_path, folder=folder).obtain(entry(sha256=SHA256))


def test_unknown_hash_is_locked_at_first_sight(tmp_path: Path) -> None:
    folder = put(tmp_path / "folder", IMAGE)
    assert store(tmp_path, folder=folder).obtain(entry()).sha256 == SHA256
    locked = json.loads((tmp_path / "state" / "firmware.lock").read_text())
    assert locked["images"][FILE]["sha256"] == SHA256 and locked["images"][FILE]["source"] == "folder"
    put(folder, OTHER)
    with pytest.raises(PortbenchError, match=f"not {SHA256} .first seen .* in folder.*; get the file again, or remove"):
        store(tmp_path, folder=folder).obtain(entry())


def test_stores_at_the_same_time_lock_one_hash(tmp_path: Path) -> None:
    folders = [put(tmp_path / f"folder{number}", uf2.build(bytes([number]))) for number in range(8)]

    def obtain(folder: Path) -> str:
        try:
            return store(tmp_path, folder=folder).obtain(entry()).sha256 or ""
        except PortbenchError as error:
            return str(error).partition(", not ")[2][:64]

    with ThreadPoolExecutor(8) as threads:
        (locked,) = set(threads.map(obtain, folders))
    assert len(locked) == 64


@pytest.mark.parametrize("content", ["{", "[]", '{"version": 1, "images": {"a": {"sha256": 3}}}', '{"version": 2}'])
def test_damaged_lock_file_gives_one_line(tmp_path: Path, content: str) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "firmware.lock").write_text(content)
    with pytest.raises(PortbenchError, match=r"firmware\.lock: .*; .*delete") as caught:
        store(tmp_path, folder=put(tmp_path / "folder", IMAGE)).obtain(entry())
    assert "\n" not in str(caught.value)


def test_offline_asks_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PORTBENCH_OFFLINE", "1")
    reachability = Reachability([], ask=lambda origin: pytest.fail(f"asked {origin}"))
    with pytest.raises(ImageUnavailable, match="PORTBENCH_OFFLINE forbids"):
        store(tmp_path, reachability=reachability).obtain(entry())


def test_no_internet_is_noticed_once_for_all_images(tmp_path: Path) -> None:
    asked: list[str] = []
    hang = threading.Event()

    def ask(origin: str) -> None:
        asked.append(origin)
        hang.wait(20)

    entries = [replace(entry(f"https://host{number}.invalid/{FILE}"), id=f"some-{number}") for number in range(5)]
    urls = [each.url for each in entries if each.url]
    reachability = Reachability(urls, limit_s=0.3, ask=ask)
    images = store(tmp_path, reachability=reachability, folder=tmp_path)
    reasons = []
    for each in [*entries, *entries]:
        with pytest.raises(ImageUnavailable) as caught:
            images.obtain(each)
        reasons.append(caught.value.reason)
        assert str(tmp_path / FILE) in caught.value.command
    hang.set()
    assert sorted(asked) == [f"https://host{number}.invalid" for number in range(5)]
    assert all("no answer within 0.3 s" in reason for reason in reasons)
    assert "no internet" in reasons[-1]


def test_one_host_down_is_not_no_internet(site: Site) -> None:
    urls = [site.url(FILE), "http://127.0.0.1:9/x"]
    reachability = Reachability(urls)
    assert reachability.fault(urls[0]) is None
    assert reachability.fault(urls[1]) == "127.0.0.1:9 cannot be reached (no connection)"
    assert site.requests == ["HEAD /"]


def test_native_image_is_a_workloads_own(tmp_path: Path) -> None:
    """Which `plan` gives as a path; the catalogue alone has none."""
    native = FirmwareEntry(
        id="native", family=Family.NATIVE, board="W5500_EVB_PICO", profiles=Family.NATIVE.traits.profiles, version="1"
    )
    with pytest.raises(PortbenchError, match=r"^native: has no file name"):
        store(tmp_path).obtain(native)
    put(tmp_path / "folder", IMAGE)
    image = store(tmp_path).obtain(replace(native, path=tmp_path / "folder" / FILE))
    assert (image.source, image.sha256, image.version) == (Source.FILE, SHA256, "1")


def test_explicit_file_is_checked_but_not_locked(tmp_path: Path) -> None:
    path = put(tmp_path / "folder", IMAGE) / FILE
    mine = entry_for_file(Uf2File.read(path), family=Family.WIZNET)
    assert store(tmp_path).obtain(mine).source is Source.FILE
    path.write_bytes(OTHER)
    assert store(tmp_path).obtain(mine).sha256 == hashlib.sha256(OTHER).hexdigest()
    path.write_bytes(OTHER[:-1])
    with pytest.raises(uf2.Uf2Error):
        store(tmp_path).obtain(mine)


def test_hosted_port_takes_its_version_from_the_package(tmp_path: Path) -> None:
    hosted = FirmwareEntry(
        id="hosted", family=Family.HOSTED, board="host", profiles=Family.HOSTED.traits.profiles, package="pooch"
    )
    image = store(tmp_path).obtain(hosted)
    assert image.version.count(".") == 2 and image.path is None
    with pytest.raises(ImageUnavailable, match="package no-such-thing is not installed; provide it: pip install"):
        store(tmp_path).obtain(replace(hosted, package="no-such-thing"))


def test_a_download_without_an_end_is_cut_off(tmp_path: Path, site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("portbench.firmware.download.MAX_FILE_BYTES", 1 << 15)
    site.pages[FILE] = [(200, bytes(1 << 16), 0)]
    with pytest.raises(ImageUnavailable, match="failed: more than 32768 bytes"):
        store(tmp_path).obtain(entry(site.url(FILE)))
    assert site.requests.count(f"GET /{FILE}") == 1 and list((tmp_path / "cache").iterdir()) == []


def test_cache_that_cannot_be_written(tmp_path: Path, site: Site) -> None:
    site.pages[FILE] = [(200, IMAGE, 0)]
    (tmp_path / "cache").touch()
    with pytest.raises(PortbenchError, match=r"cache: cannot be written .*; make room or make it writable"):
        store(tmp_path).obtain(entry(site.url(FILE)))


LIMIT_S = 0.5


@pytest.fixture(params=["headers", "content", "silence"])
def dripping(request: pytest.FixtureRequest) -> Iterator[str]:
    """A server that sends a byte now and then, for ever."""
    over = threading.Event()
    begin = {
        "headers": b"HTTP/1.0 200 OK\r\nX-",
        "content": b"HTTP/1.0 200 OK\r\nContent-Length: 100000\r\n\r\n",
        "silence": b"",
    }[request.param]

    def serve(listener: socket.socket) -> None:
        while not over.is_set():
            try:
                client, _ = listener.accept()
            except OSError:
                return
            with client:
                try:
                    client.sendall(begin)
                    while not over.wait(0.05):
                        client.sendall(b"x" if begin else b"")
                except OSError:
                    continue  # the client has had enough

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=serve, args=(listener,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/x.uf2"
        over.set()
        listener.shutdown(socket.SHUT_RDWR)
    thread.join(30)


def test_a_transfer_has_a_deadline_whatever_drips(dripping: str, tmp_path: Path) -> None:
    with pytest.raises(PortbenchError, match=rf"^not finished within {LIMIT_S} s$"):
        download(dripping, tmp_path, "x.uf2", limit_s=LIMIT_S)


MACHINES = {"W5500_EVB_PICO": "W5500-EVB-Pico", "W5100S_EVB_PICO": "W5100S-EVB-Pico"}
ENTRY = replace(entry(), id="micropython-1.28.0", version="1.28.0", url=None)
CIRCUITPYTHON = replace(ENTRY, id="circuitpython", family=Family.CIRCUITPYTHON, version="9.1.4")
WIZNET = replace(ENTRY, id="wiznet-2.0.0", family=Family.WIZNET, version="2.0.0")


def micropython(version: str, machine: str = "W5500-EVB-Pico") -> bytes:
    text = f"\0MicroPython v{version} on 2026-04-06\0; {machine} with RP2040\0"
    return uf2.build(text.encode().ljust(256, b"\0"))


def circuitpython(version: str) -> bytes:
    return uf2.build(
        f"\0CircuitPython {version} on 2024-09-17; W5500-EVB-Pico with rp2040\0".encode().ljust(256, b"\0")
    )


@pytest.mark.parametrize(
    ("entry", "content", "says"),
    [
        (ENTRY, micropython("1.26.0"), "MicroPython 1.26.0 for W5500_EVB_PICO, the catalogue has 1.28.0"),
        (ENTRY, micropython("1.2.80"), "MicroPython 1.2.80 for W5500_EVB_PICO, the catalogue has 1.28.0"),
        (
            ENTRY,
            micropython("1.28.0", "W5100S-EVB-Pico"),
            "MicroPython 1.28.0 for W5100S_EVB_PICO, the catalogue has one for W5500_EVB_PICO",
        ),
        (
            ENTRY,
            micropython("1.20.0", "Own Board"),
            "MicroPython 1.20.0 for Own Board, the catalogue has 1.28.0, one for W5500_EVB_PICO",
        ),
        (ENTRY, circuitpython("9.1.4"), "CircuitPython 9.1.4 for W5500_EVB_PICO, the catalogue has MicroPython 1.28.0"),
        (CIRCUITPYTHON, circuitpython("8.2.6"), "CircuitPython 8.2.6 for W5500_EVB_PICO, the catalogue has 9.1.4"),
        (
            WIZNET,
            micropython("1.18", "W5100S-EVB-Pico"),
            "MicroPython 1.18 for W5100S_EVB_PICO, the catalogue has one for W5500_EVB_PICO",
        ),
    ],
)
def test_another_image_than_the_catalogues_is_refused_before_its_hash_is_kept(
    entry: FirmwareEntry, content: bytes, says: str, tmp_path: Path
) -> None:
    with pytest.raises(PortbenchError) as error:
        store(tmp_path, folder=put(tmp_path / "folder", content), machines=MACHINES).obtain(entry)
    fix = "get the file again, or measure it as it is with --runtime=FILE"
    assert str(error.value) == f"{tmp_path}/folder/some-board.uf2: says {says}; {fix}"
    assert not isinstance(error.value, ImageUnavailable) and not (tmp_path / "state" / LOCK_NAME).exists()


@pytest.mark.parametrize(
    ("entry", "content"),
    [
        (ENTRY, micropython("1.28.0")),
        (replace(ENTRY, version="1.28.0-370-g7bfc-dirty"), micropython("1.28.0-preview.9")),
        (ENTRY, uf2.build(b"it says nothing".ljust(256))),
        (CIRCUITPYTHON, circuitpython("9.1.4")),
        (WIZNET, micropython("1.18")),
        (replace(ENTRY, board="MINE"), micropython("1.28.0", "Mine")),
    ],
)
def test_an_image_that_contradicts_nothing_is_taken(entry: FirmwareEntry, content: bytes, tmp_path: Path) -> None:
    assert (
        store(tmp_path, folder=put(tmp_path / "folder", content), machines=MACHINES).obtain(entry).version
        == entry.version
    )
    assert (tmp_path / "state" / LOCK_NAME).exists()


def test_a_release_is_its_numbers() -> None:
    assert [release(text) for text in ("1.20.0-370-g7bfc", "9.1", "1.17-145-g861", "dev", "1.2.3.4")] == [
        (1, 20, 0),
        (9, 1, 0),
        (1, 17, 0),
        (),
        (1, 2, 3),
    ]


def test_a_download_that_is_something_else_is_not_kept(site: Site, tmp_path: Path) -> None:
    url = site.url(FILE)
    site.pages[FILE] = [(200, micropython("1.26.0"), 0), (200, micropython("1.28.0"), 0)]
    images = store(tmp_path, machines=MACHINES)
    with pytest.raises(PortbenchError, match=rf"^{url}: says MicroPython 1\.26\.0 for W5500_EVB_PICO, "):
        images.obtain(replace(ENTRY, url=url))
    assert list((tmp_path / "cache").iterdir()) == [] and not (tmp_path / "state").exists()
    assert images.obtain(replace(ENTRY, url=url)).path == tmp_path / "cache" / FILE


def test_the_command_is_fit_for_a_shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the folders are called; the user's own by the names that their shell has for them."""
    folder, home = tmp_path / "my images", tmp_path / "a  home's"
    folder.mkdir()
    entry = replace(ENTRY, url="https://example.org/a%20b/some-board.uf2")
    monkeypatch.setenv(FOLDER_VARIABLE, str(folder))
    assert ImageStore(cache=tmp_path, state=tmp_path).command(entry) == (
        'curl -fL --create-dirs -o "$PORTBENCH_FIRMWARE_DIR"/some-board.uf2 https://example.org/a%20b/some-board.uf2'
    )
    monkeypatch.delenv(FOLDER_VARIABLE)
    monkeypatch.setenv("HOME", str(home))
    assert ImageStore(cache=home / ".cache" / "b c", state=tmp_path).command(ENTRY) == (
        "copy it to \"$HOME\"/'.cache/b c/some-board.uf2'"
    )
    assert ImageStore(cache=folder, state=tmp_path).command(ENTRY) == f"copy it to '{folder}/some-board.uf2'"
    monkeypatch.setattr(images, "_CURL", "curl.exe")
    assert ImageStore(cache=folder, state=tmp_path).command(entry) == (
        f'curl.exe -fL --create-dirs -o "{folder}/some-board.uf2" https://example.org/a%20b/some-board.uf2'
    )
