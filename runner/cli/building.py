"""Options and work tree of commands that build commits: `bisect` and `show history A..B`."""

from pathlib import Path
from typing import Any

import click

from portbench.console import tell
from portbench.errors import OptionError
from portbench.runner.cli.comparing import USUAL_LAYOUTS
from portbench.runner.cli.options import F, Seconds
from portbench.runner.commits import Commits
from portbench.runner.options import read_options

_OPTIONS = (
    click.option("--build", "command", metavar="COMMAND", help="what makes the image, from the top folder of a commit"),
    click.option("--image", type=click.Path(path_type=Path), metavar="PATH", help="the image, as seen from there"),
    click.option(
        "--build-timeout", "build_s", type=Seconds(), default=1800.0, help="seconds of a build (default 1800)"
    ),
    click.option("--linked", is_flag=True, help="judge the time as linked (default: the code, in other layouts)"),
)


def build_options(command: F) -> F:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def commits(options: dict[str, Any]) -> Commits:
    """The commits that the build options describe; takes these options out of `options`. Raises PortbenchError."""
    command, image, build_s = (options.pop(name) for name in ("command", "image", "build_s"))
    if command is None or image is None:
        raise OptionError("--build, --image: commits are built; give both")
    return Commits(command, image, build_s, tell)


def choose_layouts(options: dict[str, Any]) -> None:
    """Check `options` before anything is built. Without `--linked`, which is taken out, they ask for other layouts."""
    if not options.pop("linked"):
        options["layouts"] = options["layouts"] or USUAL_LAYOUTS
    read_options(options)
