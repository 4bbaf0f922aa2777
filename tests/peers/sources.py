"""Other projects' repositories at pinned commits: from clones in the user's folders, or fetched into the first."""

import io
import os
import subprocess
import tarfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from portbench.errors import PortbenchError
from portbench.files import locked

_LIMIT_S: Final = 600


def extract(pinned: str, paths: Sequence[str], folders: Sequence[Path], target: Path, *, fetches: bool = False) -> bool:
    """Extract paths of `owner/name@commit` to `target` from a clone in one of `folders`; False where none has it.

    `fetches`: such a commit is fetched from GitHub. Raises CalledProcessError.
    """
    repository, _, commit = pinned.partition("@")
    name, flat = repository.partition("/")[2], repository.replace("/", "+")
    names = (name, repository, flat, f"{name}.git", f"{name}/repo", f"{flat}/repo")
    clones = [folder / each for folder in folders for each in names]
    clone = next((each for each in clones if each.is_dir() and _git(each, "cat-file", "-e", commit) is not None), None)
    if clone is None and fetches:
        clone = folders[0] / flat
        busy = PortbenchError(f"{clone}: another process fetches into it")
        with locked(folders[0] / f"{flat}.lock", busy, within_s=_LIMIT_S):
            subprocess.run(["git", "init", "--quiet", "--bare", clone], check=True)
            url = f"https://github.com/{repository}"
            subprocess.run(["git", "-C", clone, "fetch", "--quiet", "--depth=1", url, commit], check=True)
    if clone is None or (packed := _git(clone, "archive", "--format=tar", commit, *paths)) is None:
        return False
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        archive.extractall(target, filter="data")
    return True


def _git(clone: Path, *arguments: str) -> bytes | None:
    """The command's output; None where it fails."""
    # git must not search the folders above one that is not a repository.
    own = os.environ | {"GIT_CEILING_DIRECTORIES": str(clone.resolve().parent)}
    done = subprocess.run(["git", "-C", clone, *arguments], capture_output=True, timeout=_LIMIT_S, check=False, env=own)
    return None if done.returncode else done.stdout


def short(pinned: str) -> str:
    """`owner/name@commit` with the first digits of the commit."""
    repository, _, commit = pinned.partition("@")
    return f"{repository}@{commit[:12]}"
