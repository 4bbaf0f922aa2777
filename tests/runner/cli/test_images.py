"""Images by content (`images add`), and releases by version (`--runtime micropython@1.28`)."""

import json
from pathlib import Path

from tests.firmware.test_images import circuitpython, micropython
from tests.runner.conftest import Start


def test_files_of_any_name_are_known_by_what_they_hold(start: Start, tmp_path: Path) -> None:
    folder = tmp_path / "downloads"
    (folder / "deep").mkdir(parents=True)
    (folder / "a.uf2").write_bytes(micropython("1.27.0"))
    (folder / "deep" / "b.UF2").write_bytes(micropython("1.27.0", "Raspberry Pi Pico W"))
    (folder / "own.uf2").write_bytes(micropython("1.27.0-12-gabcdef0"))
    (folder / "pinned.uf2").write_bytes(circuitpython("9.1.4"))  # the catalogue's has another hash
    (folder / "torn.uf2").write_bytes(b"\0" * 512)
    done = start("images", "add", folder)
    assert done.returncode == 0 and done.stdout.splitlines() == [
        f"{folder}/a.uf2: micropython-1.27.0",
        f"{folder}/deep/b.UF2: micropython-pico-w-1.27.0",
        f"{folder}/own.uf2: is not an image of the catalogue:"
        " micropython 1.27.0-12-gabcdef0 W5500-EVB-Pico with RP2040",
        f"{folder}/pinned.uf2: is not an image of the catalogue: circuitpython 9.1.4 W5500-EVB-Pico with rp2040",
        f"{folder}/torn.uf2: is not a UF2 file (starts with 00 00 00 00 00 00 00 00); choose a .uf2 image",
    ]
    assert {path.name for path in (tmp_path / "cache" / "portbench" / "firmware").iterdir()} == {
        "W5500_EVB_PICO-20251209-v1.27.0.uf2",
        "RPI_PICO_W-20251209-v1.27.0.uf2",
    }
    locked = json.loads((tmp_path / "state" / "portbench" / "firmware.lock").read_text())["images"]
    assert set(locked) == {"W5500_EVB_PICO-20251209-v1.27.0.uf2", "RPI_PICO_W-20251209-v1.27.0.uf2"}


def test_a_second_image_of_the_same_name_is_refused(start: Start, tmp_path: Path) -> None:
    (tmp_path / "a.uf2").write_bytes(micropython("1.27.0"))
    assert start("images", "add", tmp_path / "a.uf2").returncode == 0
    (tmp_path / "a.uf2").write_bytes(micropython("1.27.0").replace(b"on 2026-04-06", b"on 2026-04-07"))
    again = start("images", "add", tmp_path / "a.uf2")
    assert again.returncode == 1 and " (first seen " in again.stdout


def test_a_folder_without_images_is_no_success(start: Start, tmp_path: Path) -> None:
    (tmp_path / "none").mkdir()
    done = start("images", "add", tmp_path / "none")
    assert done.returncode == 1
    assert done.stderr == f"portbench: {tmp_path / 'none'}: has no .uf2 file; name a folder with images\n"


def test_releases_are_rows_by_their_versions(start: Start) -> None:
    words = ("run", "--dry-run", "--runs", "1", "--profile", "tuned", "--runtime")
    history = start(*words, "micropython@1.24..1.28")
    assert history.stdout.splitlines() == [
        f"micropython-{version}-tuned-ping_pong"
        for version in ("1.24.0", "1.24.1", "1.25.0", "1.26.0", "1.26.1", "1.27.0", "1.28.0")
    ]
    assert history.stderr.startswith(
        "micropython@1.24..1.28: 1.24.0, 1.24.1, 1.25.0, 1.26.0, 1.26.1, 1.27.0, 1.28.0 (list"
    )
    radio = start("run", "--dry-run", "--runtime", "circuitpython@10", "--board", "RPI_PICO_W", "--runs", "1")
    assert radio.stdout == "circuitpython-pico-w-10.3.1-as-built-ping_pong\n"
    wrong = start(*words, "wiznet@latest")
    assert wrong.returncode == 2 and "'wiznet' has no list of releases" in wrong.stderr


def test_list_releases_fits_80_columns(start: Start) -> None:
    done = start("list", "releases", COLUMNS="80")
    assert done.returncode == 0 and max(map(len, done.stdout.splitlines())) <= 80
    found = {(each["board"], each["family"]): each for each in json.loads(start("list", "releases", "--json").stdout)}
    assert found["W5500_EVB_PICO", "circuitpython"]["latest"] == "10.1.4"
    assert found["W5500_EVB_PICO", "micropython"]["versions"]["1.28.0"].endswith("W5500_EVB_PICO-20260406-v1.28.0.uf2")


def test_flash_takes_one_image(start: Start) -> None:
    done = start("flash", "micropython@1.24..1.28")
    assert done.returncode == 1 and done.stderr.endswith("are several images; flash one of them\n")
