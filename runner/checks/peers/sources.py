"""Other people's repositories at pinned commits: from the folders of the user, or fetched."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from portbench.errors import PortbenchError

_ASK_S = 60.0
_FETCH_S = 600.0


@dataclass(frozen=True)
class Source:
    """Folders of a repository on GitHub, at one commit."""

    repository: str
    """`owner/name`"""
    commit: str
    paths: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.repository.partition("/")[2]

    @property
    def pinned(self) -> str:
        return f"{self.repository}@{self.commit[:12]}"


def obtain(source: Source, folders: Sequence[Path], cache: Path) -> Path:
    """A folder with the source's paths, from the cache, from a clone in one of `folders`, or fetched.

    Raises PortbenchError.
    """
    target = cache / f"{source.name}-{source.commit[:12]}"
    if target.is_dir():
        return target
    if shutil.which("git") is None:
        raise PortbenchError(f"{source.pinned}: git is not installed; install it")
    clone = next((each for each in _clones(source, folders) if _has(each, source.commit)), None)
    cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=cache, prefix="incoming-") as scratch:
        incoming = Path(scratch)
        if clone is None:
            clone = incoming / "clone"
            _fetch(source, clone, folders)
        tree = incoming / "tree"
        tree.mkdir()
        packed = _git(clone, "archive", "--format=tar", source.commit, *source.paths)
        with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
            archive.extractall(tree, filter="data")
        tree.rename(target)
    return target


def _clones(source: Source, folders: Sequence[Path]) -> Iterator[Path]:
    """Folders that may be a clone: by its name, its owner and name, or bare mirrors of both."""
    owner = source.repository.partition("/")[0]
    for folder in folders:
        for name in (source.name, source.repository, f"{owner}+{source.name}", f"{source.name}.git"):
            for place in (folder / name, folder / name / "repo"):
                if place.is_dir():
                    yield place


def _has(clone: Path, commit: str) -> bool:
    try:
        _git(clone, "cat-file", "-e", f"{commit}^{{commit}}")
    except PortbenchError:
        return False
    return True


def _fetch(source: Source, clone: Path, folders: Sequence[Path]) -> None:
    looked = f"no clone in {', '.join(map(str, folders))} has it" if folders else "no --sources DIR was given"
    url = f"https://github.com/{source.repository}"
    subprocess.run(["git", "init", "--quiet", "--bare", str(clone)], check=True, capture_output=True, timeout=_ASK_S)
    try:
        _git(clone, "fetch", "--quiet", "--depth=1", url, source.commit, limit_s=_FETCH_S)
    except PortbenchError as error:
        raise PortbenchError(
            f"{source.pinned}: {looked}, and {error}; give a folder with a clone: --sources DIR"
        ) from None


def _git(clone: Path, *arguments: str, limit_s: float = _ASK_S) -> bytes:
    # git must not search the folders above one that is no repository.
    own = {"GIT_CEILING_DIRECTORIES": str(clone.resolve().parent), "GIT_TERMINAL_PROMPT": "0"}
    command = ["git", "-C", str(clone), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, timeout=limit_s, check=False, env={**os.environ, **own})
    except subprocess.TimeoutExpired:
        raise PortbenchError(f"git {arguments[0]} took more than {limit_s:g} s") from None
    if done.returncode:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        raise PortbenchError(f"git {arguments[0]}: {lines[-1] if lines else f'status {done.returncode}'}")
    return done.stdout
