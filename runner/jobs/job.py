"""A row as a job: what decides its figures beside the row itself, and the name by which it is known again."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import sysconfig
from collections.abc import Callable, Generator, Iterable
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path

from portbench.firmware.images import Image
from portbench.results.model import Row
from portbench.runner.plan import PlannedRow
from portbench.workloads import workload

Rows = Generator[tuple[PlannedRow, Row], None, None]
"""Rows as they end, in any order."""
Watch = Callable[[PlannedRow, str], None]
"""Called with a row and its present stage, or an instruction for its user."""

_PACKAGES = ("boards", "clients", "firmware", "server", "workloads")
_HERE = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Build:
    """This portbench: hashes of the sources that make a row, and of the engine, another file on another platform."""

    sources: str
    engine: str
    platform: str

    def measures_as(self, other: Build) -> bool:
        """True if both give the same rows. Between two platforms only the sources can be compared, not the engines."""
        return self.sources == other.sources and (self.engine == other.engine or self.platform != other.platform)


@cache
def this_build(workload_name: str) -> Build:
    """Raises UnknownName."""
    folders = [*(_HERE / name for name in _PACKAGES), workload(workload_name).folder]
    try:
        engine = importlib.util.find_spec("portbench_engine._native")
    except ModuleNotFoundError:  # not even its package is here
        engine = None
    origin = None if engine is None else engine.origin
    return Build(
        _hashed(path for folder in folders for path in sorted(folder.rglob("*")) if path.suffix in (".py", ".toml")),
        "" if origin is None else hashlib.sha256(Path(origin).read_bytes()).hexdigest(),
        sysconfig.get_platform(),
    )


def job_id(row: PlannedRow, image: Image) -> str:
    """Hash everything that decides a row's figures: image, settings, surroundings and portbench. Raises UnknownName."""
    entry, profile, how, build = row.entry, row.profile, row.how, this_build(row.workload.name)
    decides = [
        (entry.id, entry.build, str(entry.family), image.sha256, image.version),
        (profile.name, profile.spi_hz, profile.intn, repr(row.board)),
        (row.workload.name, row.settings.model_dump(mode="json"), row.number),
        asdict(how.surroundings),
        (how.address_mode, str(how.static), how.attribute, how.what_if, how.layouts),
        (str(how.pc_address), how.fixed_port),
        [(each.name, each.sha256) for each in how.libraries],
        {str(stage): seconds for stage, seconds in how.timeouts_s.items()},
        (build.sources, build.engine),
    ]
    return hashlib.sha256(json.dumps(decides, sort_keys=True).encode()).hexdigest()[:20]


def _hashed(paths: Iterable[Path]) -> str:
    whole = hashlib.sha256()
    for path in paths:
        content = path.read_bytes()
        whole.update(f"{path.parent.name}/{path.name} {len(content)}\n".encode() + content)
    return whole.hexdigest()
