"""What an image says of itself against what the catalogue has under its name."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from portbench.errors import PortbenchError
from portbench.firmware import FOLDER_VARIABLE, uf2
from portbench.firmware.catalogue import Family, FirmwareEntry
from portbench.firmware.identify import release
from portbench.firmware.images import LOCK_NAME, ImageStore, ImageUnavailable

MACHINES = {"W5500_EVB_PICO": "W5500-EVB-Pico", "W5100S_EVB_PICO": "W5100S-EVB-Pico"}
ENTRY = FirmwareEntry(
    id="micropython-1.28.0",
    family=Family.MICROPYTHON,
    board="W5500_EVB_PICO",
    profiles=Family.MICROPYTHON.traits.profiles,
    version="1.28.0",
    file="X.uf2",
)
CIRCUITPYTHON = replace(ENTRY, id="circuitpython", family=Family.CIRCUITPYTHON, version="9.1.4")
WIZNET = replace(ENTRY, id="wiznet-2.0.0", family=Family.WIZNET, version="2.0.0")


def micropython(version: str, machine: str = "W5500-EVB-Pico") -> bytes:
    text = f"\0MicroPython v{version} on 2026-04-06\0; {machine} with RP2040\0"
    return uf2.build(text.encode().ljust(256, b"\0"))


def circuitpython(version: str) -> bytes:
    return uf2.build(
        f"\0CircuitPython {version} on 2024-09-17; W5500-EVB-Pico with rp2040\0".encode().ljust(256, b"\0")
    )


@pytest.fixture
def store(tmp_path: Path) -> Callable[[bytes], ImageStore]:
    def make(content: bytes) -> ImageStore:
        (tmp_path / "folder").mkdir()
        (tmp_path / "folder" / "X.uf2").write_bytes(content)
        return ImageStore(
            folder=tmp_path / "folder",
            cache=tmp_path / "cache",
            state=tmp_path / "state",
            machines=MACHINES,
            offline=True,
        )

    return make


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
    entry: FirmwareEntry, content: bytes, says: str, store: Callable[[bytes], ImageStore], tmp_path: Path
) -> None:
    with pytest.raises(PortbenchError) as error:
        store(content).obtain(entry)
    fix = "get the file again, or measure it as it is with --runtime=FILE"
    assert str(error.value) == f"{tmp_path}/folder/X.uf2: says {says}; {fix}"
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
def test_an_image_that_contradicts_nothing_is_taken(
    entry: FirmwareEntry, content: bytes, store: Callable[[bytes], ImageStore], tmp_path: Path
) -> None:
    assert store(content).obtain(entry).version == entry.version
    assert (tmp_path / "state" / LOCK_NAME).exists()


def test_a_release_is_its_numbers() -> None:
    assert [release(text) for text in ("1.20.0-370-g7bfc", "9.1", "1.17-145-g861", "dev", "1.2.3.4")] == [
        (1, 20, 0),
        (9, 1, 0),
        (1, 17, 0),
        (),
        (1, 2, 3),
    ]


@pytest.fixture
def offered() -> Iterator[tuple[str, list[bytes]]]:
    """A server's address, and what it serves."""
    content: list[bytes] = [b""]

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(content[0])))
            self.end_headers()
            self.wfile.write(content[0])

        do_HEAD = do_GET

        def log_message(self, *arguments: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/X.uf2", content
        server.shutdown()


def test_a_download_that_is_something_else_is_not_kept(offered: tuple[str, list[bytes]], tmp_path: Path) -> None:
    url, content = offered
    content[0] = micropython("1.26.0")
    store = ImageStore(cache=tmp_path / "cache", state=tmp_path / "state", machines=MACHINES, offline=False)
    with pytest.raises(PortbenchError, match=rf"^{url}: says MicroPython 1\.26\.0 for W5500_EVB_PICO, "):
        store.obtain(replace(ENTRY, url=url))
    assert list((tmp_path / "cache").iterdir()) == [] and not (tmp_path / "state").exists()
    content[0] = micropython("1.28.0")
    assert store.obtain(replace(ENTRY, url=url)).path == tmp_path / "cache" / "X.uf2"


def test_the_command_is_fit_for_a_shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the folders are called; the user's own by the names that their shell has for them."""
    folder, home = tmp_path / "my images", tmp_path / "a  home's"
    folder.mkdir()
    entry = replace(ENTRY, url="https://example.org/a%20b/X.uf2")
    monkeypatch.setenv(FOLDER_VARIABLE, str(folder))
    assert ImageStore(cache=tmp_path, state=tmp_path).command(entry) == (
        'curl -fL --create-dirs -o "$PORTBENCH_FIRMWARE_DIR"/X.uf2 https://example.org/a%20b/X.uf2'
    )
    monkeypatch.delenv(FOLDER_VARIABLE)
    monkeypatch.setenv("HOME", str(home))
    assert ImageStore(cache=home / ".cache" / "b c", state=tmp_path).command(ENTRY) == (
        "copy it to \"$HOME\"/'.cache/b c/X.uf2'"
    )
    assert ImageStore(cache=folder, state=tmp_path).command(ENTRY) == f"copy it to '{folder}/X.uf2'"
