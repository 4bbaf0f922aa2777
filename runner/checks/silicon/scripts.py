"""Programs that others published: from the user's cache or a download, checked by their hash, never kept here."""

from __future__ import annotations

import hashlib
import shlex
import tempfile
from pathlib import Path
from typing import Final

import platformdirs

from portbench.errors import PortbenchError
from portbench.firmware.download import Progress, Reachability, download
from portbench.results.silicon import Script

CACHE: Final = platformdirs.user_cache_path("portbench", appauthor=False) / "scripts"
_LIMIT_S: Final = 60.0


class ScriptStore:
    """`cache` None: the user's. `offline`: nothing is downloaded."""

    def __init__(self, cache: Path | None = None, *, offline: bool = False, progress: Progress | None = None) -> None:
        self.cache = cache or CACHE
        self._offline = offline
        self._progress = progress
        self._faults: dict[str, str] = {}
        """By host, so that an unreachable network is waited for once."""

    def obtain(self, script: Script) -> bytes:
        """The content of a script. Raises PortbenchError."""
        path = self.cache / script.file
        if not path.exists():
            self._download(script, path)
        content = path.read_bytes()
        actual = hashlib.sha256(content).hexdigest()
        if actual != script.sha256:
            raise PortbenchError(
                f"{path}: sha256 is {actual}, not {script.sha256}; remove it, and get it again: {self._command(script)}"
            )
        return content

    def _download(self, script: Script, path: Path) -> None:
        missing = f"{script.file} is not in {self.cache}"
        if fault := self._fault(script.url):
            raise PortbenchError(f"{missing}, and {fault}; provide it: {self._command(script)}")
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with tempfile.TemporaryDirectory(dir=path.parent, prefix="incoming-") as incoming:
                fresh = download(script.url, Path(incoming), path.name, progress=self._progress, limit_s=_LIMIT_S)
                fresh.replace(path)
        except PortbenchError as error:
            raise PortbenchError(
                f"{missing}, and {script.url}: {error}; provide it: {self._command(script)}"
            ) from error

    def _fault(self, url: str) -> str | None:
        if self._offline:
            return "downloads are forbidden"
        host = url.split("/")[2]
        if host not in self._faults:
            self._faults[host] = Reachability([url]).fault(url) or ""
        return self._faults[host] or None

    def _command(self, script: Script) -> str:
        return f"curl -fL --create-dirs -o {shlex.quote(str(self.cache / script.file))} {shlex.quote(script.url)}"
