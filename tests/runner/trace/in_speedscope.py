"""speedscope itself, in headless Chromium, as its own command opens a file there."""

import base64
import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from html import unescape
from pathlib import Path
from typing import Final

import pytest

PACKAGE: Final = "speedscope@1.25.0"
_LIMIT_S: Final = 240
_CONSOLE: Final = re.compile(r':CONSOLE:\d+\] "(.*)", source: ')
_USUAL: Final = ("speedscope v", "WebGL initialized", "Importing as ", "import: ")


@dataclass(frozen=True)
class Opened:
    title: str
    text: str
    imported_as: str
    complaints: tuple[str, ...]


def in_speedscope(file: Path, scratch: Path) -> Opened:
    """Skips without a tool or the package."""
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    npm = shutil.which("npm")
    if chromium is None or npm is None:
        pytest.skip("no Chromium or no npm; install them: sudo apt-get install chromium nodejs npm")
    page = scratch / "package" / "dist" / "release" / "index.html"
    if not page.is_file():
        packed = subprocess.run([npm, "pack", "--silent", PACKAGE], cwd=scratch, timeout=_LIMIT_S, check=False)
        archives = list(scratch.glob("speedscope-*.tgz"))
        if packed.returncode or not archives:
            pytest.skip(f"npm cannot get {PACKAGE}; run: npm pack {PACKAGE}")
        shutil.unpack_archive(archives[0], scratch, filter="data")
    content = base64.b64encode(file.read_bytes()).decode()
    load = scratch / f"{file.name}.js"
    load.write_text(f"speedscope.loadFileFromBase64({json.dumps(file.name)}, {json.dumps(content)})")
    words = ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--enable-logging=stderr"]
    words += ["--use-angle=swiftshader", "--enable-unsafe-swiftshader", f"--user-data-dir={scratch / 'chromium'}"]
    words += ["--virtual-time-budget=20000", "--dump-dom", f"file://{page}#localProfilePath={load}"]
    done = subprocess.run([chromium, *words], capture_output=True, text=True, timeout=_LIMIT_S, check=False)
    assert done.returncode == 0, done.stderr
    said = [match[1] for match in _CONSOLE.finditer(done.stderr)]
    title = re.search(r"<title>([^<]*)", done.stdout)
    return Opened(
        unescape(title[1]) if title else "",
        " ".join(unescape(re.sub(r"<[^>]*>", " ", done.stdout)).split()),
        next((line for line in said if line.startswith("Importing as ")), ""),
        tuple(line for line in said if not line.startswith(_USUAL)),
    )
