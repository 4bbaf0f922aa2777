"""Builds the playground, a folder of static files: python engine/web/build.py FOLDER (make playground).

It needs the engine's Python package for the boot ROMs, Rust with the target wasm32-unknown-unknown, and Node.js.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from filelock import FileLock
from portbench_engine.boot_rom import BOOT_ROMS, bootrom

HERE: Final = Path(__file__).parent
BUILT: Final = HERE.parent / "target"
TARGET: Final = "wasm32-unknown-unknown"
CLIENT: Final = HERE.parents[1] / "workloads" / "ping_pong" / "native.uf2"
ENTRIES: Final = ("page.ts", "worker.ts", "offline.ts", "page.css")


class Failed(Exception):
    """A step failed: one line."""


def run(*command: str, folder: Path, fix: str = "") -> None:
    """Raises Failed with the last lines that the command said, or with `fix`."""
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise Failed(f"{command[0]} is not installed; {fix}") from None
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise Failed(f"{' '.join(command[:2])}: " + " / ".join(said[-4:]))


def has_target() -> bool:
    """Whether Rust can compile for WebAssembly here."""
    rustc = shutil.which("rustc")
    if rustc is None:
        return False
    asked = [rustc, "--print", "target-libdir", "--target", TARGET]
    done = subprocess.run(asked, cwd=HERE, capture_output=True, text=True, check=False)
    return done.returncode == 0 and Path(done.stdout.strip()).is_dir()


def build(folder: Path) -> None:
    """Write the page into `folder`. Raises Failed."""
    if not has_target():
        raise Failed(f"Rust cannot compile for WebAssembly here; run: rustup target add {TARGET}")
    run("cargo", "build", "--quiet", "--profile", "web", "--target", TARGET, "--package", "portbench-web", folder=HERE)
    page = BUILT / "page"
    with FileLock(BUILT / "page.lock"):
        shutil.copytree(HERE / "page", page, dirs_exist_ok=True)
        installed, wanted = page / "node_modules" / ".package-lock.json", page / "package-lock.json"
        if not installed.is_file() or installed.stat().st_mtime < wanted.stat().st_mtime:
            install = ("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
            run(*install, folder=page, fix="install Node.js 20 or later")
        run("npx", "tsc", folder=page)
        folder.mkdir(parents=True, exist_ok=True)
        options = ("--bundle", "--minify", "--format=esm", "--target=es2022", f"--outdir={folder.resolve()}")
        run("npx", "esbuild", *ENTRIES, *options, "--log-level=warning", folder=page)
    shutil.copy(page / "index.html", folder)
    shutil.copy(CLIENT, folder)
    shutil.copy(BUILT / TARGET / "web" / "web.wasm", folder / "engine.wasm")
    for mcu in BOOT_ROMS:
        (folder / f"{mcu}.rom").write_bytes(bootrom(mcu))


if __name__ == "__main__":
    try:
        build(Path(sys.argv[1]))
    except (Failed, OSError) as error:
        sys.exit(f"playground: {error}")
