"""`bisect`: commits that a command builds, commits that do not build, interruptions, and folders of images.

Images are texts here, and figures are made from them; test_compare.py bisects images that run.
"""

import json
import subprocess
from pathlib import Path

import pytest

from portbench.results.model import RunFile
from tests import patience
from tests.results.rows import row, run_of
from tests.runner.conftest import COMMAND, LIMIT_S, Invoke

BUILD = """cat image >> "$PLACE/built"
[ -e "$PLACE/again" ] || [ "$(cat image)" != 9 ] || { touch "$PLACE/again"; kill -INT $PPID; tail -f /dev/null; }
! grep -q broken image && [ -z "$PYTHONSAFEPATH" ] && mkdir -p out && cp image out/it.uf2"""
"""Interrupts portbench as Ctrl-C does, once, at the image 9."""


def git(folder: Path, *words: str) -> str:
    own = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    command = ["git", "-C", str(folder), *own, *words]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty repository; figures are read from the images: `9` is a microsecond longer than `8`."""
    folder = tmp_path / "checkout"
    folder.mkdir()
    git(folder, "init", "-q")

    def measure(images: list[str], _: object) -> list[RunFile]:
        totals = [float(Path(image).read_text()) for image in images]
        return [run_of(row(total, sim={}, layouts=layouts(4e6 / total))) for total in totals]

    for verb in ("bisect", "show.history"):
        monkeypatch.setattr(f"portbench.runner.cli.verbs.{verb}.measure_images", measure)
    monkeypatch.setattr("portbench.runner.cli.verbs.bisect.look_first", lambda *_: None)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PLACE", str(tmp_path))
    return folder


def layouts(messages_per_s: float) -> dict[str, object]:
    """Figures of an image that is as fast in all layouts of the flash."""
    figures = {"messages_per_s": messages_per_s}
    return {"linked": figures, "free": figures, "drawn": [figures, figures]}


def commit(folder: Path, *images: str) -> list[str]:
    """A commit for each image, whose subject says which. Returns their hashes."""
    for number, image in enumerate(images):
        (folder / "image").write_text(f"{image}\n")
        (folder / "number").write_text(str(number))
        git(folder, "add", ".")
        git(folder, "commit", "-q", "-m", f"Change {number}: {image}")
    return git(folder, "rev-list", "--reverse", "HEAD").split()


@pytest.fixture
def bisect(checkout: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> Invoke:
    monkeypatch.chdir(checkout)
    return lambda *words: invoke("bisect", *words, "--build", BUILD, "--image", "out/it.uf2")


def test_the_first_slow_commit_is_found_after_an_interruption(
    checkout: Path, bisect: Invoke, environment: dict[str, str], tmp_path: Path
) -> None:
    hashes = commit(checkout, "8", "8", "broken", "8.01", "8.8", "8.9", "broken", "9")
    (checkout / "image").write_text("not committed")
    words = ["bisect", hashes[0], "HEAD", "--build", BUILD, "--image", "out/it.uf2"]
    assert patience.run([*COMMAND, *words], LIMIT_S, cwd=checkout, env=environment).returncode == 130
    assert git(checkout, "worktree", "list").count("\n") == 0
    assert (tmp_path / "built").read_text().split() == ["8", "9"]
    done = bisect(hashes[0], "HEAD")
    assert done.exit_code == 0, done.output
    said = f"first slow one: {hashes[4][:12]} Change 4: 8.8, +10.0 %; {hashes[3][:12]}.uf2 before it: +0.1 %\n"
    assert done.stdout.endswith(said) and "slower by 9.9 %" in done.stdout
    built = (tmp_path / "built").read_text().split()
    assert built.count("8") == 1 and {"8.01", "8.8"} <= set(built), "the first image was kept"
    assert (checkout / "image").read_text() == "not committed"
    assert git(checkout, "worktree", "list").count("\n") == 0
    again = bisect(hashes[0], "HEAD")
    assert again.stdout == done.stdout
    assert set((tmp_path / "built").read_text().split()[len(built) :]) <= {"broken"}


def test_a_step_among_commits_that_do_not_build_is_undecided(checkout: Path, bisect: Invoke) -> None:
    hashes = commit(checkout, "8", "broken", "broken", "10")
    done = bisect(hashes[0], hashes[-1], "--linked")
    assert done.exit_code == 3 and "status 1; see " in done.stderr and done.stderr.count("; skipped\n") == 2
    assert "first slow one, among those that do not build:\n" in done.stdout
    assert all(each[:12] in done.stdout for each in hashes[1:]) and "slower by 25.0 %" in done.stdout


def test_the_first_fast_commit_is_found_and_no_step_is_status_1(checkout: Path, bisect: Invoke) -> None:
    hashes = commit(checkout, "10", "9.9", "8", "8.1")
    done = bisect(hashes[0], hashes[-1])
    assert done.exit_code == 0 and f"first fast one: {hashes[2][:12]} Change 2: 8, -20.0 %; " in done.stdout
    done = bisect(hashes[0], hashes[1])
    assert done.exit_code == 1 and done.stdout.startswith("no step: ")
    assert bisect(hashes[0], hashes[1], "--step=0.5%").exit_code == 0


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (("A", "nothing"), 2, "nothing: is no revision of "),
        (("B", "A"), 2, " is no ancestor of "),
        (("A", "B", "-s", "messages=1,2"), 2, "messages: 1,2 are several values"),
        (("A",), 2, "A: is not a folder of images; name a second commit"),
        (("A", "B", "--image", "it.uf2"), 1, ": --build makes no it.uf2; correct --image, or see "),
        (("A", "B", "--image", "../it.uf2"), 2, "--image: ../it.uf2 is not inside the checkout"),
        (("A", "B", "--build", "tail -f /dev/null", "--build-timeout=0.1"), 1, "--build takes longer than 0.1 s; see "),
        (("A", "B", "--build", "echo why; exit 7"), 1, "--build ends with status 7; see "),
    ],
)
def test_errors_are_one_line(
    words: tuple[str, ...], status: int, said: str, checkout: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    hashes = commit(checkout, "8", "10")
    git(checkout, "tag", "A", hashes[0])
    git(checkout, "tag", "B", hashes[1])
    monkeypatch.chdir(checkout)
    done = invoke("bisect", "--build", "cp image out.uf2", "--image", "out.uf2", *words)
    assert done.exit_code == status and said in done.stderr.splitlines()[-1], done.output
    if "why" in words[-1]:
        assert Path(done.stderr.rpartition("see ")[2].strip()).read_text() == "why\n"


def test_only_a_checkout_has_commits(invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    done = invoke("bisect", "A", "B", "--build", "true", "--image", "it.uf2")
    assert done.exit_code == 1 and f"{tmp_path}: git rev-parse: fatal: not a git repository" in done.stderr
    assert invoke("bisect", "A", "B").exit_code == 2


def test_images_that_differ_by_chance_alone_are_undecided(
    checkout: Path, invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = {
        f"{name}.uf2": [row(total, n, where="silicon") for n, total in enumerate(totals)]
        for name, totals in (("1", (100, 101, 102)), ("2", (103, 106, 110)), ("3", (200, 201, 202)))
    }
    monkeypatch.setattr(
        "portbench.runner.cli.verbs.bisect.measure_images",
        lambda images, _: [run_of(*runs[Path(image).name]) for image in images],
    )
    (tmp_path / "builds").mkdir()
    for name in runs:
        (tmp_path / "builds" / name).touch()
    done = invoke("bisect", tmp_path / "builds", "--step=2%")
    assert (done.exit_code, done.stdout) == (3, "") and "too few runs to tell: 1 of 1" in done.stderr


def test_the_history_of_commits_marks_the_step(checkout: Path, invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    hashes = commit(checkout, "8", "8", "broken", "10", "10")
    monkeypatch.chdir(checkout)
    words = ("show", "history", f"{hashes[0]}..HEAD", "--build", BUILD, "--image", "out/it.uf2")
    done = invoke(*words)
    assert "4 measurements of " in done.stdout and "ping_pong emulated, over commits" in done.stdout
    line = next(line for line in done.stdout.splitlines() if "Change 3: 10" in line)
    assert line.startswith(hashes[3][:12]) and line.rstrip().endswith("step: 1.25x worse")
    assert done.stdout.count("step: ") == 1 and f"; see {checkout.parent}/cache/portbench/builds/" in done.stderr
    (found,) = json.loads(invoke(*words, "--json", "--every=3").stdout)
    assert [entry["version"][:12] for entry in found["entries"]] == [hashes[each][:12] for each in (0, 3, 4)]
    assert found["entries"][0]["values"] == [4e6 / 8] * 2, "a value for each layout"
    images = found["steps"][0]["compare"].split()[2:4]
    assert [Path(image).read_text() for image in images] == ["8\n", "10\n"]
