"""Find the first commit, or image of a folder, that is slower or faster.

GOOD and BAD are revisions of the git checkout in the current folder; --build makes the image of a commit at --image, in
a work tree of this command's own. `git bisect` chooses commits; one that does not build is skipped. Images are kept by
commit: after an interruption the same command builds only the missing ones. GOOD alone is a folder of images, which
are taken in the order of their names, build-9 before build-10.
"""

import contextlib
import re
from functools import partial
from pathlib import Path
from typing import Any

import click

from portbench.console import shown, tell
from portbench.errors import OptionError, PortbenchError
from portbench.results.compare import Comparison, compare
from portbench.results.compare_table import USUAL_LIMIT, as_data, markdown, share
from portbench.results.model import RunFile
from portbench.runner.cli.building import build_options, choose_layouts, commits
from portbench.runner.cli.comparing import Undecided, as_share, look_first, measuring_options, print_comparison, verdict
from portbench.runner.cli.pages import json_text, output_option, write_pages
from portbench.runner.commits import FirstStep, halves
from portbench.runner.jobs.run import measure_images


@click.command()
@click.argument("good")
@click.argument("bad", metavar="[BAD]", required=False)
@build_options
@click.option(
    "--step", type=as_share, metavar="SHARE", help="difference that counts (default: half of BAD's, at least 2%)"
)
@measuring_options
@click.option("--json", "as_json", is_flag=True, help="print JSON")
@output_option
def COMMAND(
    good: str,
    bad: str | None,
    step: float | None,
    as_json: bool,
    outputs: tuple[Path, ...],
    **options: Any,
) -> int:
    choose_layouts(options)
    with contextlib.ExitStack() as ending:
        if bad is None:
            images = _images(Path(good))
            first, last, search = images[0], images[-1], partial(halves, images)
        else:
            line = ending.enter_context(commits(options))
            old, new = line.ends(good, bad)
            first, last, search = line.image(old), line.image(new), partial(line.search, old, new)
        judge = _Judge(first, last, step, options)
        if not judge.differs:
            click.echo(f"no step: {last.name}: {judge.told[last]} beside {first.name}", err=as_json)
            return 1
        found = search(judge.is_step)
        before, after = measure_images([str(found.before), str(found.image)], options | {"attribute": True})
    compared = compare(before, after)
    data = as_data(compared, None)
    if as_json:
        click.echo(json_text({"first": list(found.names), "compared": data}), nl=False)
    else:
        print_comparison(compared, None)
    write_pages(outputs, data, markdown(compared, None))
    click.echo(_answer(found, judge), err=as_json)
    return 0 if len(found.names) == 1 else Undecided.exit_code


class _Judge:
    """Compares images with the first one, in the direction of the last one."""

    def __init__(self, first: Path, last: Path, step: float | None, options: dict[str, Any]) -> None:
        """Measures both. Raises PortbenchError, and Undecided where runs are too few to tell."""
        self._options = options
        look_first([str(first), str(last)], options)
        (self._first,) = measure_images([str(first)], options)
        self.told: dict[Path, str] = {first: "0"}
        """The largest difference of all rows, by image: `+2.8 %`."""
        measured = self._measured(last)
        least = USUAL_LIMIT if step is None else step
        self.slower = bool(verdict(compare(self._first, measured), least))
        self.differs = self.slower or bool(verdict(compare(measured, self._first), least))
        most = max(each.judged for each in self._beside(measured))
        self._limit = max(least, most / 2) if step is None else step

    def is_step(self, image: Path) -> bool:
        return bool(verdict(self._beside(self._measured(image)), self._limit))

    def _measured(self, image: Path) -> RunFile:
        (run,) = measure_images([str(image)], self._options)
        compared = compare(self._first, run)
        if not compared:
            raise PortbenchError(f"{image}: has no row in common with the first image; measure both alike")
        self.told[image] = share(max((each.judged for each in compared), key=abs))
        tell(f"{image.stem}: {self.told[image]}")
        return run

    def _beside(self, run: RunFile) -> list[Comparison]:
        return compare(self._first, run) if self.slower else compare(run, self._first)


def _answer(found: FirstStep, judge: _Judge) -> str:
    what = "slow" if judge.slower else "fast"
    if len(found.names) > 1:
        return "\n".join([f"first {what} one, among those that do not build:", *map(shown, found.names)])
    before = f"{found.before.name} before it: {judge.told.get(found.before, 'not judged')}"
    return f"first {what} one: {shown(found.names[0])}, {judge.told[found.image]}; {before}"


def _images(folder: Path) -> list[Path]:
    """The images of a folder in the order of their names. Raises PortbenchError."""
    if not folder.is_dir():
        raise OptionError(f"{folder}: is not a folder of images; name a second commit to bisect, BAD")
    images = sorted(folder.glob("*.uf2"), key=_by_number)
    if len(images) < 2:
        raise PortbenchError(f"{folder}: has {len(images)} .uf2 images; give it two at least")
    return images


def _by_number(path: Path) -> list[tuple[int, str]]:
    """`build-9.uf2` before `build-10.uf2`."""
    parts = re.split(r"(\d+)", path.stem)
    return [(int(part), "") if part.isdigit() else (-1, part) for part in parts]
