"""The source distributions, the wheels that are built from them, and that these work where no checkout is."""

import os
import shutil
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path, PurePosixPath

import pytest

from portbench.firmware.boot_roms import boot_rom
from portbench.results.shipped import all_shipped
from tests import patience
from tests.conftest import Image

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(shutil.which("cargo") is None, reason="no Rust toolchain (cargo); install it with rustup"),
]
PROJECT = Path(__file__).parents[2]
_NOT_OURS = shutil.ignore_patterns(".*", "target", "build", "dist", "__pycache__", "*.egg-info", "*.so", "runs")
_BUILD_SDIST = "import sys; from setuptools import build_meta; build_meta.build_sdist(sys.argv[1])"
_LIMIT_S = 600
_BOOT = """
import sys
from portbench_engine import Board

board = Board.from_uf2(sys.argv[1])
print(board.console.expect(">>> "), end="")
board.console.write(b"6 * 7\\r")
print(board.console.expect("42\\r\\n>>> ").replace("\\r", ""))
"""


def run(*command: str | Path, cwd: Path, **environment: str) -> str:
    done = patience.run(command, _LIMIT_S, cwd=cwd, env=os.environ | environment)
    said = done.stdout + done.stderr
    assert done.returncode == 0 and "no files found matching" not in said, said
    return done.stdout


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy, as building writes into it, with what building and running leave in one."""
    copy = tmp_path_factory.mktemp("packaging") / "checkout"
    shutil.copytree(PROJECT, copy, symlinks=True, ignore=_NOT_OURS)
    for left in ("engine/target/release/left.rs", "results/runs/left.json", "boards/__pycache__/left.cpython-311.pyc"):
        (copy / left).parent.mkdir(parents=True, exist_ok=True)
        (copy / left).touch()
    (copy / "engine" / "python" / "portbench_engine" / "_native.abi3.so").touch()
    return copy


def built_sdist(project: Path, folder: Path) -> Path:
    run(sys.executable, "-c", _BUILD_SDIST, folder, cwd=project)
    (found,) = folder.iterdir()
    return found


@pytest.fixture(scope="module")
def sdist(checkout: Path) -> Path:
    return built_sdist(checkout, checkout.with_name("sdist"))


@pytest.fixture(scope="module")
def engine_sdist(checkout: Path) -> Path:
    return built_sdist(checkout / "engine", checkout.with_name("engine-sdist"))


@pytest.fixture(scope="module")
def wheel(sdist: Path) -> Path:
    return built_wheel(sdist)


@pytest.fixture(scope="module")
def engine_wheel(engine_sdist: Path) -> Path:
    return built_wheel(engine_sdist)


def built_wheel(sdist: Path) -> Path:
    """Shares its objects with the checkout's own build: cargo knows the crates of a workspace by their paths in it, and
    compiles those whose files are newer than their objects, or missing."""
    folder = sdist.with_name("wheel")
    unpacked = sdist.with_name("unpacked")
    with tarfile.open(sdist) as archive:
        archive.extractall(unpacked, filter="data")
    (source,) = unpacked.iterdir()
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-index", "--no-build-isolation"]
    run(*pip, "--wheel-dir", folder, source, cwd=sdist.parent, CARGO_TARGET_DIR=str(PROJECT / "engine" / "target"))
    (found,) = folder.iterdir()
    return found


def sources(*endings: str) -> set[str]:
    """The packages' files in the checkout, by their path in a wheel."""
    package = PROJECT / "portbench"
    folders = [package, *(folder.resolve() for folder in package.iterdir() if folder.is_dir())]
    return {
        str(PurePosixPath("portbench", *([folder.name] if folder != package else []), *path.relative_to(folder).parts))
        for folder in folders
        for path in folder.rglob("*")
        if path.name.endswith(endings)
        and path.is_file()
        and not {"build", "tests", "__pycache__"} & set(path.relative_to(folder).parts)
    }


@pytest.fixture
def python(tmp_path: Path) -> Path:
    """The interpreter of an empty environment."""
    run(sys.executable, "-m", "venv", "--without-pip", "venv", cwd=tmp_path)
    return tmp_path / "venv" / "bin" / "python"


def install(python: Path, *wheels: Path, with_dependencies: bool = False) -> None:
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-index"]
    run(*pip, *([] if with_dependencies else ["--no-deps"]), *wheels, cwd=python.parent)


def members(archive: Path) -> set[str]:
    with tarfile.open(archive) as opened:
        return {member.name.partition("/")[2] for member in opened.getmembers() if member.isfile()}


def test_the_sdists_have_the_sources_and_nothing_that_was_built(sdist: Path, engine_sdist: Path) -> None:
    files, of_engine = members(sdist), members(engine_sdist)
    engine = PROJECT / "engine"
    crates = {str(path.relative_to(engine)) for path in engine.glob("*/src/**/*.rs")}
    package = {f"python/portbench_engine/{path.name}" for path in (engine / "python/portbench_engine").glob("*.py*")}
    assert crates and package and {"Cargo.toml", "Cargo.lock", "README.md"} | crates | package <= of_engine
    assert {"pyproject.toml", "README.md"} | sources(
        ".py", ".toml", ".uf2", ".c", ".h", ".S", ".css", ".j2", ".js"
    ) <= files
    unwanted = ("target/", "__pycache__", ".pyc", ".so", "results/runs")
    assert [file for file in files | of_engine if any(part in file for part in unwanted)] == []


def test_the_wheel_is_one_package_with_its_data(wheel: Path) -> None:
    assert wheel.name.endswith("-py3-none-any.whl")
    with zipfile.ZipFile(wheel) as archive:
        files = set(archive.namelist())
    assert {file.split("/")[0] for file in files} == {"portbench", f"{wheel.name.partition('-py3')[0]}.dist-info"}
    endings = (".py", ".md", ".toml", ".uf2", ".hex", ".yaml", ".pem", ".css", ".j2", ".js", ".pyi", "py.typed")
    wanted = sources(*endings)
    # What builds the native client and the AVR guests.
    wanted -= {f"portbench/firmware/{name}.py" for name in ("native/pack", "native/board_header", "avr/record")}
    wanted |= {f"portbench/results/figures/{name}" for name, _ in all_shipped()}
    assert {file for file in files if file.startswith("portbench/")} == wanted


def test_the_engines_wheel_has_one_package(engine_wheel: Path) -> None:
    assert "-cp311-abi3-" in engine_wheel.name
    with zipfile.ZipFile(engine_wheel) as archive:
        files = {file for file in archive.namelist() if ".dist-info/" not in file}
    names = {file.removeprefix("portbench_engine/") for file in files}
    modules = {"__init__.py", "__main__.py", "board.py", "boot_rom.py", "devices.py"}
    assert names == modules | {"_native.abi3.so", "_native.pyi", "py.typed"}


def test_the_engines_wheel_needs_no_other(engine_wheel: Path, python: Path, tmp_path: Path, image: Image) -> None:
    firmware = image("micropython-1.26.0")
    install(python, engine_wheel, with_dependencies=True)
    rom = tmp_path / "rom.bin"
    rom.write_bytes(boot_rom())
    said = run(python, "-c", _BOOT, firmware, cwd=tmp_path, PORTBENCH_BOOTROM=str(rom))
    assert said.startswith("MicroPython v1.26.0 ") and said.endswith("\n>>> 6 * 7\n42\n>>> \n")


def test_the_wheels_work_away_from_the_checkout(wheel: Path, engine_wheel: Path, python: Path, tmp_path: Path) -> None:
    install(python, wheel, engine_wheel)
    own = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=tmp_path).strip())
    # The dependencies, but not the checkout: lines of a .pth file in a folder that a .pth file names are not followed.
    (own / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    code = "import portbench.boards, portbench_engine; print(portbench_engine.__file__)"
    assert Path(run(python, "-I", "-c", code, cwd=tmp_path).strip()).parent == own / "portbench_engine"
    listed = run(own.parents[2] / "bin" / "portbench", "list", cwd=tmp_path)
    assert "portbench-native" in listed and "W5500_EVB_PICO" in listed
    rows = run(python, "-m", "pytest", "-p", "no:labgrid", "--portbench=--runs 1", "--collect-only", "-q", cwd=tmp_path)
    assert "::portbench-native-tuned-ping_pong\n" in rows
