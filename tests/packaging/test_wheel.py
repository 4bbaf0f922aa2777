"""The source distribution, the wheel that is built from it, and that the wheel works where no checkout is."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import zipfile
from pathlib import Path, PurePosixPath

import pytest

from portbench.results.shipped import all_shipped

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(shutil.which("cargo") is None, reason="no Rust toolchain (cargo); install it with rustup"),
]
PROJECT = Path(__file__).parents[2]
_NOT_OURS = shutil.ignore_patterns(".*", "target", "build", "dist", "__pycache__", "*.egg-info", "*.so", "runs")
_BUILD_SDIST = "import sys; from setuptools import build_meta; build_meta.build_sdist(sys.argv[1])"
_LIMIT_S = 600


def run(*command: str | Path, cwd: Path, **environment: str) -> str:
    done = subprocess.run(
        command, cwd=cwd, env=os.environ | environment, capture_output=True, text=True, timeout=_LIMIT_S, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy, as building writes into it, with what building and running leave in one."""
    copy = tmp_path_factory.mktemp("packaging") / "checkout"
    shutil.copytree(PROJECT, copy, symlinks=True, ignore=_NOT_OURS)
    for left in ("engine/target/release/left.rs", "results/runs/left.json", "boards/__pycache__/left.cpython-311.pyc"):
        (copy / left).parent.mkdir(parents=True, exist_ok=True)
        (copy / left).touch()
    (copy / "portbench" / "_engine.cpython-311-x86_64-linux-gnu.so").touch()
    return copy


@pytest.fixture(scope="module")
def sdist(checkout: Path) -> Path:
    folder = checkout.with_name("sdist")
    run(sys.executable, "-c", _BUILD_SDIST, folder, cwd=checkout)
    (found,) = folder.iterdir()
    return found


@pytest.fixture(scope="module")
def wheel(sdist: Path) -> Path:
    folder = sdist.parent.with_name("wheel")
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-index", "--no-build-isolation"]
    # Neither the profile nor this machine's other builds change which files there are.
    quickly = {
        "SETUPTOOLS_RUST_CARGO_PROFILE": "dev",
        "CARGO_PROFILE_DEV_DEBUG": "false",
        "CARGO_INCREMENTAL": "0",
        "CARGO_TARGET_DIR": str(sdist.parent.with_name("target")),
    }
    run(*pip, "--wheel-dir", folder, sdist, cwd=sdist.parent, **quickly)
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


def test_the_sdist_has_the_engines_sources_and_nothing_that_was_built(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        files = {member.name.partition("/")[2] for member in archive.getmembers() if member.isfile()}
    engine = PROJECT / "engine"
    crates = {str(path.relative_to(PROJECT)) for path in engine.glob("*/src/**/*.rs")}
    assert crates and {"engine/Cargo.toml", "engine/Cargo.lock", "pyproject.toml", "README.md"} | crates <= files
    assert sources(".py", ".toml", ".uf2", ".c", ".h", ".S", ".css", ".j2", ".js") <= files
    unwanted = ("/target/", "__pycache__", ".pyc", ".so", "results/runs")
    assert [file for file in files if any(part in file for part in unwanted)] == []


def test_the_wheel_is_one_package_with_its_data(wheel: Path) -> None:
    assert "-cp311-abi3-" in wheel.name
    with zipfile.ZipFile(wheel) as archive:
        files = set(archive.namelist())
    assert {file.split("/")[0] for file in files} == {"portbench", f"{wheel.name.partition('-cp')[0]}.dist-info"}
    wanted = sources(".py", ".md", ".toml", ".uf2", ".yaml", ".mjs", ".css", ".j2", ".js", ".pyi", "py.typed")
    wanted -= {f"portbench/firmware/native/{name}.py" for name in ("pack", "board_header")}  # the native client's build
    wanted |= {f"portbench/results/figures/{name}" for name, _ in all_shipped()}
    (engine,) = {file for file in files if file.startswith("portbench/")} - wanted
    assert wanted <= files and engine == "portbench/_engine.abi3.so"


def test_the_wheel_works_away_from_the_checkout(wheel: Path, tmp_path: Path) -> None:
    run(sys.executable, "-m", "venv", "--without-pip", "venv", cwd=tmp_path)
    python = tmp_path / "venv" / "bin" / "python"
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index"]
    run(*pip, wheel, cwd=tmp_path)
    own = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=tmp_path).strip())
    # The dependencies, but not the checkout: lines of a .pth file in a folder that a .pth file names are not followed.
    (own / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    code = "import portbench.boards, portbench._engine; print(portbench._engine.__file__)"
    assert Path(run(python, "-I", "-c", code, cwd=tmp_path).strip()).parent == own / "portbench"
    listed = run(own.parents[2] / "bin" / "portbench", "list", cwd=tmp_path)
    assert "portbench-native" in listed and "W5500_EVB_PICO" in listed
    rows = run(python, "-m", "pytest", "-p", "no:labgrid", "--portbench=--runs 1", "--collect-only", "-q", cwd=tmp_path)
    assert "::portbench-native-tuned-ping_pong\n" in rows
