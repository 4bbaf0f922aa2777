"""The PC and the software of a run, as its file describes them."""

import importlib.metadata
import os
import platform
import subprocess
from collections.abc import Iterable
from pathlib import Path

from portbench.results.model import Git, Machine

_GIT_LIMIT_S = 10.0


def describe_machine() -> Machine:
    """This PC, without data that identifies its owner."""
    return Machine(
        system=platform.system(),
        release=platform.release(),
        architecture=platform.machine(),
        processor=_processor(),
        cores=os.cpu_count() or 0,
        python=f"{platform.python_implementation()} {platform.python_version()}",
    )


def tool_versions(packages: Iterable[str]) -> dict[str, str]:
    """Installed version of each of `packages`; those that are not installed are left out."""
    versions: dict[str, str] = {}
    for package in packages:
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return versions


def git_state(root: Path) -> Git | None:
    """Revision of the work tree at `root`; None where there is none, or no git."""
    revision = _git(root, "rev-parse", "HEAD")
    changes = _git(root, "status", "--porcelain", "--untracked-files=no")
    if not revision or changes is None:
        return None
    return Git(revision=revision, dirty=bool(changes))


def _git(root: Path, *words: str) -> str | None:
    command = ["git", "--no-optional-locks", "-C", str(root), *words]  # takes no lock from other git commands
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_GIT_LIMIT_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            name, _, value = line.partition(":")
            if name.strip() == "model name":
                return value.strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
