"""Which portbench this is: what decides an emulated row's figures beside the job itself."""

from __future__ import annotations

import hashlib
import importlib.util
import sysconfig
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from portbench.workloads import workload

_PACKAGES = ("boards", "clients", "firmware", "server", "workloads")
_HERE = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Build:
    """Hashes of what puts a row together and of the engine, which is another file on another platform."""

    sources: str
    engine: str
    platform: str

    def measures_as(self, other: Build) -> bool:
        """Whether a row of one is a row of the other. Of engines for two platforms only the sources can be compared."""
        return self.sources == other.sources and (self.engine == other.engine or self.platform != other.platform)


@cache
def this_build(workload_name: str) -> Build:
    """Raises UnknownName."""
    folders = [*(_HERE / name for name in _PACKAGES), workload(workload_name).folder]
    engine = importlib.util.find_spec("portbench._engine")
    origin = None if engine is None else engine.origin
    return Build(
        _hashed(path for folder in folders for path in sorted(folder.rglob("*")) if path.suffix in (".py", ".toml")),
        "" if origin is None else hashlib.sha256(Path(origin).read_bytes()).hexdigest(),
        sysconfig.get_platform(),
    )


def _hashed(paths: Iterable[Path]) -> str:
    whole = hashlib.sha256()
    for path in paths:
        content = path.read_bytes()
        whole.update(f"{path.parent.name}/{path.name} {len(content)}\n".encode() + content)
    return whole.hexdigest()
