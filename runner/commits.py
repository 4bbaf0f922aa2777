"""Images of commits: a work tree of this job, the user's build command in it, and git's own bisection.

The user's work tree stays as it is: a linked one has its own HEAD, index and state of `git bisect`.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Final

import psutil
from platformdirs import user_cache_path

from portbench.errors import OptionError, PortbenchError
from portbench.files import TemporaryFolder, replace_file
from portbench.signals import Interruptions

_GIT_LIMIT_S: Final = 600.0
_FOUND: Final = re.compile(r"^# (?:possible )?first bad commit: \[(\w+)\]", re.MULTILINE)
"""Lines of `git bisect log` at its end; several, where commits between them were skipped."""


@dataclass(frozen=True)
class FirstStep:
    """The first slow image. Several `names`: each may be it, since the images between them could not be made.

    `before`: the image before it, or the nearest one that is fast.
    """

    before: Path
    image: Path
    names: Sequence[str]


def halves(images: Sequence[Path], is_slow: Callable[[Path], bool]) -> FirstStep:
    """Search images of which the first is fast and the last slow."""
    fast, slow = 0, len(images) - 1
    while slow - fast > 1:
        middle = (fast + slow) // 2
        if is_slow(images[middle]):
            slow = middle
        else:
            fast = middle
    return FirstStep(images[fast], images[slow], [images[slow].name])


class Commits:
    """The commits of the git checkout in the current folder, and their images.

    `command` makes the file `image`, a path in the checkout, within `limit_s`. Images and logs are kept in the user's
    cache, by commit. Use it in a `with` block, whose end removes the work tree. Raises PortbenchError.
    """

    def __init__(self, command: str, image: Path, limit_s: float, tell: Callable[[str], None]) -> None:
        if image.is_absolute() or ".." in image.parts:
            raise OptionError(f"--image: {image} is not inside the checkout; write it as seen from its top folder")
        self._command, self._image, self._limit_s, self._tell = command, image, limit_s, tell
        self._root = Path.cwd()
        self._root = Path(self._git("rev-parse", "--show-toplevel"))
        key = sha256(f"{command}\0{image.as_posix()}".encode()).hexdigest()[:12]
        self._kept = user_cache_path("portbench", appauthor=False) / "builds" / key
        self._folder = TemporaryFolder("portbench-commits")
        self._interruptions = Interruptions()

    def __enter__(self) -> Commits:
        self._interruptions.listen()
        return self

    def __exit__(self, *_: object) -> None:
        self._interruptions.ending()
        self._git("worktree", "remove", "--force", str(self._folder.path / "tree"), allowed=255)
        self._folder.remove()
        self._interruptions.restore()

    def ends(self, old: str, new: str) -> tuple[str, str]:
        """The hashes of two revisions, the older one first. Raises OptionError."""
        one, other = self._commit(old), self._commit(new)
        if self._git("merge-base", one, other, allowed=255) != one or one == other:
            raise OptionError(f"{old}: is no ancestor of {new}; name the older commit of a line first")
        return one, other

    def line(self, old: str, new: str, every: int) -> list[str]:
        """Every so many commits from `old` to `new`, first parents only, and both ends."""
        between = self._git("rev-list", "--reverse", "--first-parent", f"{old}..{new}").split()
        return [*[old, *between[:-1]][::every], new]

    def _commit(self, name: str) -> str:
        """The hash of a revision. Raises OptionError."""
        found = self._git("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}", allowed=255)
        if not found:
            raise OptionError(f"{name}: is no revision of {self._root}; name a commit, a branch or a tag")
        return found.splitlines()[-1]

    def title(self, commit: str) -> str:
        """`79edaddf501f rp2/CMakeLists: Apply O2 optimisation`."""
        return self._git("log", "-1", "--abbrev=12", "--format=%h %s", commit)

    def image(self, commit: str) -> Path:
        """The image of a commit, made now unless it is kept. Raises PortbenchError, which names the log."""
        kept, log = (self._kept / f"{commit[:12]}{suffix}" for suffix in (self._image.suffix, ".log"))
        if kept.exists():
            return kept
        self._kept.mkdir(parents=True, exist_ok=True)
        self._git("checkout", "--force", "--detach", commit, at=self._tree)
        self._tell(f"{self.title(commit)}: is built")
        status = self._build(log)
        if status != 0:
            how = f"takes longer than {self._limit_s:g} s" if status is None else f"ends with status {status}"
            raise PortbenchError(f"{commit[:12]}: --build {how}; see {log}")
        made = self._tree / self._image
        if not made.is_file():
            raise PortbenchError(f"{commit[:12]}: --build makes no {self._image}; correct --image, or see {log}")
        replace_file(kept, made.read_bytes())
        return kept

    def search(self, good: str, bad: str, is_slow: Callable[[Path], bool]) -> FirstStep:
        """Search as `git bisect` does; a commit whose image cannot be made is skipped. Raises PortbenchError."""
        self._git("bisect", "start", "--no-checkout", bad, good, at=self._tree)
        while not (found := _FOUND.findall(self._git("bisect", "log", at=self._tree))):
            commit = self._git("rev-parse", "BISECT_HEAD", at=self._tree)
            word = "skip"
            if (image := self.made(commit)) is not None:
                word = "bad" if is_slow(image) else "good"
            self._git("bisect", word, commit, at=self._tree, allowed=2)  # 2: only skipped ones are left
        slow = self._git("rev-parse", "refs/bisect/bad", at=self._tree)
        before = self.made(self._commit(f"{slow}^")) if len(found) == 1 else None
        return FirstStep(before or self.image(good), self.image(slow), [self.title(each) for each in found])

    @cached_property
    def _tree(self) -> Path:
        """The work tree, without files yet."""
        tree = self._folder.path / "tree"
        self._git("worktree", "add", "--detach", "--no-checkout", str(tree))
        return tree

    def made(self, commit: str) -> Path | None:
        """The image of a commit; None, and a line for the user, if it cannot be made."""
        try:
            return self.image(commit)
        except PortbenchError as error:
            self._tell(f"{error}; skipped")
            return None

    def _build(self, log: Path) -> int | None:
        """The status of the user's command; None at the deadline. Ends all that it started."""
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}  # ours alone
        with log.open("wb") as output:
            build = subprocess.Popen(
                self._command,
                shell=True,
                cwd=self._tree,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # Ctrl-C reaches us alone
            )
            try:
                return build.wait(self._limit_s)
            except subprocess.TimeoutExpired:
                return None
            finally:
                if build.returncode is None:
                    top = psutil.Process(build.pid)
                    for each in [*top.children(recursive=True), top]:
                        with contextlib.suppress(psutil.NoSuchProcess):
                            each.kill()
                    build.wait()

    def _git(self, *words: str, at: Path | None = None, allowed: int = 0) -> str:
        command = ["git", "-C", str(at or self._root), *words]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=_GIT_LIMIT_S, check=False, start_new_session=True
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise PortbenchError(f"git {words[0]}: {error}; commits are built with git") from error
        if not 0 <= done.returncode <= allowed:
            said = (done.stderr.strip() or done.stdout.strip()).splitlines()
            raise PortbenchError(f"{at or self._root}: git {words[0]}: {said[-1] if said else done.returncode}")
        return done.stdout.strip()
