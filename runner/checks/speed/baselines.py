"""The same image and the same loop on other emulators, each in a separate process."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from portbench.boards import Deadline
from portbench.errors import PortbenchError
from portbench.files import TemporaryFolder
from portbench.firmware.boot_roms import boot_rom
from portbench.runner.checks.check import last_line

RP2040JS_VERSION = "1.4.1"
_HERE = Path(__file__).parent
_RP2040PY_ITERATIONS = 20_000
_RP2040JS_ITERATIONS = 100_000
_RP2350JS_ITERATIONS = 5_000
_RP2350JS_FOLDER = "PORTBENCH_RP2350JS"
_INSTALL_S = 60.0


@dataclass(frozen=True)
class Baseline:
    """The loop on another emulator; `cpu_s` as in LoopSpeed."""

    name: str
    iterations: int
    cpu_s: float

    @property
    def iterations_per_s(self) -> float:
        return self.iterations / self.cpu_s


def rp2040py(image: Path, deadline: Deadline) -> Baseline:
    """The Python emulator with its native core. Raises PortbenchError."""
    if importlib.util.find_spec("rp2040py") is None:
        raise PortbenchError(f"rp2040py is not installed; run: {sys.executable} -m pip install rp2040py")
    command = [sys.executable, "-P", str(_HERE / "rp2040py_loop.py"), str(image), str(_RP2040PY_ITERATIONS)]
    seconds = _run("rp2040py", command, deadline)
    return Baseline(f"rp2040py {importlib.metadata.version('rp2040py')}", _RP2040PY_ITERATIONS, seconds)


def rp2040js(image: Path, deadline: Deadline) -> Baseline:
    """The JavaScript emulator, installed by npm into a temporary folder. Raises PortbenchError."""
    tools = {name: shutil.which(name) for name in ("node", "npm")}
    for name, path in tools.items():
        if path is None:
            raise PortbenchError(f"rp2040js needs {name}, which is not installed")
    with TemporaryFolder("portbench-rp2040js") as folder:
        package = f"rp2040js@{RP2040JS_VERSION}"
        install = [str(tools["npm"]), "install", "--silent", "--no-audit", "--no-fund"]
        install += ["--prefix", str(folder), package]
        try:
            done = subprocess.run(install, capture_output=True, text=True, timeout=_INSTALL_S, check=False)
        except subprocess.TimeoutExpired:
            raise PortbenchError(f"npm was still installing {package} after {_INSTALL_S:g} s") from None
        if done.returncode != 0:
            raise PortbenchError(f"npm could not install {package} ({last_line(done.stderr)})")
        script = folder / "rp2040js_loop.mjs"  # beside node_modules, where node looks for the package
        shutil.copyfile(_HERE / script.name, script)
        rom = folder / "bootrom.bin"
        rom.write_bytes(boot_rom())
        command = [str(tools["node"]), str(script), str(image), str(rom), str(_RP2040JS_ITERATIONS)]
        return Baseline(f"rp2040js {RP2040JS_VERSION}", _RP2040JS_ITERATIONS, _run("rp2040js", command, deadline))


def rp2350js(image: Path, deadline: Deadline) -> Baseline:
    """The JavaScript emulator of the RP2350, in the folder that PORTBENCH_RP2350JS names. Raises PortbenchError."""
    node, folder = shutil.which("node"), os.environ.get(_RP2350JS_FOLDER)
    if node is None:
        raise PortbenchError("rp2350js needs node, which is not installed")
    if not folder or not (Path(folder) / "dist" / "esm" / "index.js").is_file():
        raise PortbenchError(
            f"{_RP2350JS_FOLDER} names no folder with rp2350js; run: git clone https://github.com/c1570/rp2350js"
            " && cd rp2350js && npm install && npm run build"
        )
    version = json.loads((Path(folder) / "package.json").read_text(encoding="utf-8"))["version"]
    command = [node, str(_HERE / "rp2350js_loop.mjs"), folder, str(image), str(_RP2350JS_ITERATIONS)]
    return Baseline(f"rp2350js {version}", _RP2350JS_ITERATIONS, _run("rp2350js", command, deadline))


def _run(name: str, command: list[str], deadline: Deadline) -> float:
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=deadline.remaining, check=False)
    except subprocess.TimeoutExpired:
        raise PortbenchError(f"{name} had not ended the loop after {deadline.seconds:g} s") from None
    try:
        return float(json.loads(done.stdout)["seconds"])
    except (ValueError, KeyError, TypeError):
        raise PortbenchError(f"{name} gave no figure ({last_line(done.stderr)})") from None
