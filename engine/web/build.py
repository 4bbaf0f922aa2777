"""Builds the playground, a folder of static files: python engine/web/build.py FOLDER (make playground).

It needs portbench's environment, Node.js, and Rust with the target wasm32-unknown-unknown or the source of its library.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

import portbench_engine
from filelock import FileLock
from portbench_engine import CHIPS, MCUS, RADIOS, SD_CARDS
from portbench_engine._native import NO_BOOT_LOADER
from portbench_engine.boot_rom import BOOT_ROMS, bootrom

from portbench.boards import board_definition
from portbench.boards.definition import Ethernet
from portbench.boards.emulated.config import EmulatedConfig
from portbench.firmware import catalogue
from portbench.publisher import is_official, publisher
from portbench.runner.inventory import workload_inventory
from portbench.workloads import workloads

HERE: Final = Path(__file__).parent
BUILT: Final = HERE.parent / "target"
TARGET: Final = "wasm32-unknown-unknown"
DEBIANS_RUSTC: Final = "/usr/bin/rustc"
NO_TARGET: Final = f"Rust cannot compile for WebAssembly here; run: rustup target add {TARGET}"
ROOT: Final = HERE.parents[1]
CLIENT: Final = ROOT / "workloads" / "ping_pong" / "native.uf2"
ENTRIES: Final = ("page.ts", "worker.ts", "bench.ts", "offline.ts", "page.css")
PUBLISHED: Final = ROOT / "results" / "page" / "page.css"
"""The published page's look, which is this page's."""
LIST: Final = "files.json"
"""Names of the files that the page keeps for use without a network."""
PYODIDE: Final = ("pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")
PARTS: Final = ("boards", "clients", "firmware", "results", "runner", "server", "workloads")
"""The folders that `portbench/` has links to."""
KINDS: Final = (".py", ".toml", ".json", ".css", ".js", ".j2", ".pem", ".uf2")
LIBRARIES: Final = (
    *("annotated-types", "typing-extensions", "typing-inspection", "filelock", "platformdirs", "packaging"),
    *("mpremote", "rich", "tabulate", "h11", "wsproto", "jinja2", "markupsafe"),
)
"""Those of this environment that measuring and its page import. Compiled modules are left out."""
LEFT_OUT: Final = (
    *("two_boards", "sd_card", "udp_service", "perf_bench", "mqtt", "tls", "tls_asyncio", "https", "https_server"),
)
"""Workloads with a second board, a card, TLS, or files that are downloaded."""
BOARDS: Final = (
    *("W5500_EVB_PICO", "W5100S_EVB_PICO", "RPI_PICO", "RPI_PICO_W", "W5500_EVB_PICO2", "RPI_PICO2", "RPI_PICO2_W"),
)
"""Those of the page, in the order of its menu."""
PROMPTS: Final = ("MicroPython", "CircuitPython")
READABLE: Final = {
    r"^https://github\.com/([^/]+/[^/]+)/raw/": r"https://raw.githubusercontent.com/\1/",
    r"^https://downloads\.circuitpython\.org/": "https://adafruit-circuit-python.s3.amazonaws.com/",
}
"""Addresses that a browser does not let the page read, and others of the same files: docs/playground.md."""
OF_PYODIDE: Final = ("--platform", "pyemscripten_2026_0_wasm32", "--python-version", "314", "--abi", "cp314")


class Failed(Exception):
    """A step failed: one line."""


def run(*command: str, folder: Path, fix: str = "", variables: Mapping[str, str] = os.environ) -> None:
    """Raises Failed with the last lines that the command said, or with `fix`."""
    try:
        done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise Failed(f"{command[0]} is not installed; {fix}") from None
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise Failed(f"{' '.join(command[:2])}: " + " / ".join(said[-4:]))


class Cargo(NamedTuple):
    """Settings of cargo for WebAssembly: variables, and options of `cargo build`."""

    variables: dict[str, str]
    options: tuple[str, ...]


def asked(rustc: str, *options: str) -> str:
    """The answer of rustc to `--print`; empty without one."""
    done = subprocess.run([rustc, *options], cwd=HERE, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else ""


def cargo() -> Cargo | None:
    """Rust's compiled library for WebAssembly, as rustup has it, or its source, which is compiled as well. The source
    belongs to its compiler's version: rustup's component rust-src, or Debian's rustc-web beside another rustc.
    """
    first = shutil.which("rustc")
    found = [rustc for rustc in (first, DEBIANS_RUSTC) if rustc is not None and Path(rustc).exists()]
    if first is not None and Path(asked(first, "--print", "target-libdir", "--target", TARGET) or "-").is_dir():
        return Cargo({}, ())
    libraries = {rustc: Path(asked(rustc, "--print", "sysroot"), "lib", "rustlib") for rustc in found}
    linker = next((lld for library in libraries.values() for lld in library.glob("*/bin/rust-lld")), "rust-lld")
    for rustc, library in libraries.items():
        if (library / "src" / "rust" / "library" / "Cargo.lock").is_file():
            options = {"RUSTC_BOOTSTRAP": "1", f"CARGO_TARGET_{TARGET.upper().replace('-', '_')}_LINKER": str(linker)}
            # A wrapper, as Clippy's, contains another compiler.
            options["RUSTC_WORKSPACE_WRAPPER"] = ""
            # No features: those for backtraces, which a page has not, take a fifth of the time.
            return Cargo({"RUSTC": rustc, **options}, ("-Zbuild-std=std,panic_abort", "-Zbuild-std-features="))
    return None


def facts() -> str:
    """List what the engine models."""
    models = {"mcus": MCUS, "chips": CHIPS, "radios": RADIOS, "sd_cards": SD_CARDS, "no_boot_loader": NO_BOOT_LOADER}
    return json.dumps(models)


def boards() -> str:
    """List the page's boards, each with its settings as by default; `page/board.ts` has their form."""
    kinds = []
    for name in BOARDS:
        board = board_definition(name)
        network = {"network": board.network.chip if board.network else "", "cable": isinstance(board.network, Ethernet)}
        settings = EmulatedConfig().settings(board)
        kinds.append({"id": name, "title": board.title, "mcu": board.mcu, **network, "settings": settings})
    return json.dumps(kinds)


def readable(url: str) -> str:
    """The address from which a page may fetch the file."""
    for pattern, place in READABLE.items():
        url = re.sub(pattern, place, url)
    return url


def known() -> str:
    """The workloads that the page measures, with their settings; the catalogue's images by their SHA-256, and its menu
    of those with a prompt, which a browser fetches: the projects' own first, MicroPython first, the newest first.
    """
    measured = [workload_inventory(each) for each in workloads().values() if each.name not in LEFT_OUT]
    seen = [entry for entry in catalogue.load() if entry.sha256]
    menu = [entry for entry in reversed(seen) if entry.family.traits.runtime in PROMPTS and entry.url]
    menu.sort(key=lambda entry: (not is_official(entry.url), entry.family.traits.runtime != "MicroPython"))
    firmware = [
        {
            "id": entry.id,
            "board": entry.board,
            "url": readable(entry.url or ""),
            "sha256": entry.sha256,
            "publisher": "official" if is_official(entry.url) else f"by {publisher(entry.url)}",
        }
        for entry in menu
    ]
    return json.dumps(
        {"workloads": measured, "images": {entry.sha256: entry.id for entry in seen}, "firmware": firmware}
    )


def python_files() -> Iterator[tuple[str, Path]]:
    """The page's Python, each file by its name in the archive, without the packages of requirements.lock."""
    for path in (ROOT / "portbench").rglob("*"):  # which follows no link
        if path.suffix in KINDS and path.is_file():
            yield str(path.relative_to(ROOT)), path
    for part in PARTS:
        for path in (ROOT / part).rglob("*"):
            if path.suffix in KINDS and "native" not in path.parts and "runs" not in path.parts and path.is_file():
                yield f"portbench/{path.relative_to(ROOT)}", path
    for path in Path(portbench_engine.__file__).parent.glob("*.py"):
        yield f"portbench_engine/{path.name}", path
    for path in (HERE / "python").glob("*.py"):
        yield path.name if path.name != "_native.py" else "portbench_engine/_native.py", path
    for library in LIBRARIES:
        for file in importlib.metadata.files(library) or ():
            if file.suffix == ".py" and ".." not in file.parts:
                yield str(file), Path(str(file.locate()))


def write_python(folder: Path, pyodide: Path) -> None:
    """Write Pyodide, and the archive of what it imports, into `folder`. Raises Failed."""
    wheels = BUILT / "wheels"
    lock = HERE / "requirements.lock"
    fetch = (sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes", "--only-binary=:all:")
    with FileLock(BUILT / "wheels.lock"):
        if not wheels.is_dir() or wheels.stat().st_mtime < lock.stat().st_mtime:
            shutil.rmtree(wheels, ignore_errors=True)
            run(*fetch, *OF_PYODIDE, "--dest", str(wheels), "--requirement", str(lock), folder=HERE)
    folder.mkdir(exist_ok=True)
    for name in PYODIDE:
        shutil.copy(pyodide / name, folder)
    with zipfile.ZipFile(folder / "portbench.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, path in sorted(dict(python_files()).items()):
            archive.writestr(zipfile.ZipInfo(name), path.read_bytes(), zipfile.ZIP_DEFLATED)
        archive.writestr(zipfile.ZipInfo("portbench_engine/facts.json"), facts(), zipfile.ZIP_DEFLATED)
        for wheel in sorted(wheels.glob("*.whl")):
            with zipfile.ZipFile(wheel) as packed:
                for info in packed.infolist():
                    archive.writestr(zipfile.ZipInfo(info.filename), packed.read(info), zipfile.ZIP_DEFLATED)


def clear(folder: Path) -> None:
    """Remove the files of an earlier build: some names contain a hash, and the page keeps what its list names."""
    if (folder / LIST).is_file():
        for name in json.loads((folder / LIST).read_text(encoding="utf-8")):
            if (folder / name).is_file():
                (folder / name).unlink()


def build(folder: Path, profile: str = "web") -> None:
    """Write the page into `folder`. `profile`: cargo's, for the engine. Raises Failed."""
    compiler = cargo()
    if compiler is None:
        raise Failed(NO_TARGET)
    command = ("cargo", "build", "--quiet", "--profile", profile, "--target", TARGET, "--package", "portbench-web")
    run(*command, *compiler.options, folder=HERE, variables={**os.environ, **compiler.variables})
    page = BUILT / "page"
    with FileLock(BUILT / "page.lock"):
        shutil.copytree(HERE / "page", page, dirs_exist_ok=True)
        shutil.copy(PUBLISHED, page / "published.css")
        (page / "boards.json").write_text(boards(), encoding="utf-8")
        installed, wanted = page / "node_modules" / ".package-lock.json", page / "package-lock.json"
        if not installed.is_file() or installed.stat().st_mtime < wanted.stat().st_mtime:
            install = ("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
            run(*install, folder=page, fix="install Node.js 20 or later")
        run("npx", "tsc", folder=page)
        folder.mkdir(parents=True, exist_ok=True)
        clear(folder)
        options = ("--bundle", "--minify", "--format=esm", "--target=es2022", f"--outdir={folder.resolve()}")
        options += ("--splitting", "--external:node:*")
        run("npx", "esbuild", *ENTRIES, *options, "--log-level=warning", folder=page)
    shutil.copy(page / "index.html", folder)
    shutil.copy(CLIENT, folder)
    shutil.copy(BUILT / TARGET / profile / "web.wasm", folder / "engine.wasm")
    (folder / "catalogue.json").write_text(known(), encoding="utf-8")
    write_python(folder / "python", page / "node_modules" / "pyodide")
    for mcu in BOOT_ROMS:
        (folder / f"{mcu}.rom").write_bytes(bootrom(mcu))
    files = sorted(path.name for path in folder.iterdir() if path.is_file())
    (folder / LIST).write_text(json.dumps(["./", *files]), encoding="utf-8")


if __name__ == "__main__":
    try:
        build(Path(sys.argv[1]))
    except (Failed, OSError) as error:
        sys.exit(f"playground: {error}")
