"""The command and its verbs: one file each in `verbs/`, loaded when used.

A folder is a verb with verbs below it: `verbs/desk/power.py` is `desk power`, and `verbs/desk/__init__.py` is `desk`.
"""

import ast
import errno
import gc
import importlib
import importlib.metadata
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any, Final, NoReturn

import click

from portbench.console import shown, tell
from portbench.errors import OptionError, PortbenchError, unknown, unwritable

NAME: Final = "portbench"
INTERRUPTED: Final = 130
"""Status after Ctrl-C, as shells have it."""
_VERBS: Final = Path(__file__).with_name("verbs")
_SECTIONS: Final = {
    "Choose": ("advise", "list", "images"),
    "Measure": ("run", "compare", "bisect"),
    "Understand": ("explain", "trace", "profile", "gdb"),
    "Boards": ("flash", "desk", "serve"),
    "Results": ("show",),
    "Project": ("check",),
}
"""The verbs in the order in which a user meets them."""

_UNWRITABLE: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS)
_ELSEWHERE: Final = {"sweep": "run -s NAME=VALUE,VALUE"}
"""The commands for words that are none here."""


@contextmanager
def _one_line(context: click.Context | None = None) -> Iterator[None]:
    """End the command with status 2 for a wrong option, 1 for a PortbenchError or an error of a file."""
    try:
        yield
    except OptionError as error:
        raise click.UsageError(shown(str(error)), context) from None
    except PortbenchError as error:
        raise click.ClickException(shown(str(error))) from None
    except BrokenPipeError:
        raise
    except OSError as error:
        if error.errno in _UNWRITABLE:
            said = unwritable(error.filename or "the output", error)
        else:
            said = f"{error.filename}: {error.strerror}" if error.filename else str(error)
        raise click.ClickException(shown(said)) from None


def _loaded(name: str) -> ModuleType:
    """The module `name`. What its import makes stays to the end: it is never looked through for garbage."""
    if (module := sys.modules.get(name)) is not None:
        return module
    gc.disable()
    try:
        return importlib.import_module(name)
    finally:
        gc.freeze()
        gc.enable()


class Verbs(click.Group):
    """Verbs by the names of their files in `folder`. The first line of a file is the help of its verb.

    If it has a callback, it is also a command without a verb.
    """

    allow_extra_args = False
    allow_interspersed_args = True

    def __init__(self, *args: Any, folder: Path = _VERBS, **more: Any) -> None:
        super().__init__(*args, **more)
        self.no_args_is_help = False
        self.subcommand_metavar = "COMMAND ..." if folder == _VERBS else "| COMMAND ..."
        self._folder = folder

    def list_commands(self, context: click.Context | None = None) -> list[str]:
        found = (path.parent if path.name == "__init__.py" else path for path in self._folder.glob("*.py"))
        folders = (path.parent for path in self._folder.glob("*/__init__.py"))
        return sorted(path.stem for path in {*found, *folders} if path != self._folder)

    def get_command(self, context: click.Context | None, name: str) -> click.Command | None:
        if name not in self.list_commands():
            return None
        place = (self._folder / name).relative_to(_VERBS).parts
        verb = _loaded(".".join((__package__, "verbs", *place)))
        command: click.Command | None = getattr(verb, "COMMAND", None)
        if (self._folder / name).is_dir():
            # A verb's own options are those of the bare verb.
            own = command or click.Command(name)
            command = Verbs(name, folder=self._folder / name, params=own.params, callback=own.callback)
        assert command is not None, f"{verb.__file__}: has no COMMAND"
        command.name = name
        command.help = verb.__doc__
        return command

    def parse_args(self, context: click.Context, args: list[str]) -> list[str]:
        if args[:1] == ["help"] and self._folder == _VERBS:
            args = [*args[1:], "--help"]
        if args and not args[0].startswith("-") and self._takes(args[0]):
            context.args = args  # the verb below reads them
            return args
        return click.Command.parse_args(self, context, args)

    def _takes(self, word: str) -> bool:
        """True if the first word names a verb below; without arguments here, each word does."""
        return word in self.list_commands() or not any(isinstance(each, click.Argument) for each in self.params)

    def invoke(self, context: click.Context) -> Any:
        if not context.args:
            if self.callback is None:
                click.echo(context.get_help())
            return click.Command.invoke(self, context)
        name, command, args = self.resolve_command(context, context.args)
        assert command is not None
        # A child of the root, so that the usage line omits the arguments of the verb above.
        place = name if context.parent is None else f"{context.info_name} {name}"
        with command.make_context(place, args, parent=context.parent or context) as below, _one_line(below):
            return command.invoke(below)

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name, command = args[0], self.get_command(context, args[0])
        if command is None and not context.resilient_parsing:
            raise click.UsageError(unknown("command", name, *self._names(name)), context)
        return name, command, args[1:]

    def _names(self, name: str) -> tuple[list[str], dict[str, str]]:
        """The verbs here, and the verbs below them by last word, near the unknown `name`."""
        names = self.list_commands()
        below = {path.stem: f"{path.parent.name} {path.stem}" for path in self._folder.glob("*/[a-z]*.py")}
        if name in _ELSEWHERE and self._folder == _VERBS:
            below[name] = _ELSEWHERE[name]
        return [*names, *below], {last: words for last, words in below.items() if last not in names}

    def format_options(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        click.Command.format_options(self, context, formatter)
        self.format_commands(context, formatter)

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        names = self.list_commands()
        sections = _SECTIONS if self._folder == _VERBS else {"Commands": tuple(names)}
        for title, members in sections.items():
            with formatter.section(title):
                formatter.write_dl([(name, self._purpose(name)) for name in members if name in names])

    def _purpose(self, name: str) -> str:
        """The first line of a verb's file, read without import so that help is fast."""
        place = self._folder / name
        path = place / "__init__.py" if place.is_dir() else place.with_suffix(".py")
        return (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").partition("\n")[0]

    def main(self, *args: Any, **more: Any) -> NoReturn:
        """Run the command and end the process.

        Status 0: success; 1: failure; 2: wrong command line; 3: too few runs to tell (`compare`); 130: Ctrl-C.
        """
        _prepare_streams()
        try:
            with _one_line():  # for what click itself prints
                status = super().main(*args, **{**more, "prog_name": NAME, "standalone_mode": False})
        except click.UsageError as error:
            place = error.ctx.command_path if error.ctx else NAME
            said = " ".join(error.format_message().split()).rstrip(".")
            help_is_in = "" if "; see: " in said else f"{'' if said.endswith('?') else ';'} see: {place} --help"
            tell(f"{place}: {said}{help_is_in}")
            status = 2
        except click.ClickException as error:
            tell(f"{NAME}: {error.format_message()}")
            status = error.exit_code
        except click.Abort:
            status = INTERRUPTED
        _flush_quietly()
        sys.exit(status or 0)


def _prepare_streams() -> None:
    """Escape names that the locale's encoding lacks. Print to nowhere where the caller has closed a stream."""
    for name in ("stdout", "stderr"):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_WRONLY), "w"))
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.encoding.lower().replace("-", "") != "utf8":
            stream.reconfigure(errors="backslashreplace")


def _flush_quietly() -> None:
    """Flush standard output, whose reader may have gone, as `head -1` does."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        # Python flushes once more as it ends, and would report the same error.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _tell_version(context: click.Context, option: click.Parameter, wanted: bool) -> None:
    if wanted:
        try:
            click.echo(f"{NAME} {importlib.metadata.version(NAME)}")
        except importlib.metadata.PackageNotFoundError:  # run from a checkout's folder
            click.echo(f"{NAME}, not installed")
        context.exit()


@click.group(
    cls=Verbs,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    help="Which Python firmware should I flash on this board, and why is it slow?",
)
@click.option(
    "--version",
    is_flag=True,
    expose_value=False,
    is_eager=True,
    callback=_tell_version,
    help="show the version and exit",
)
@click.pass_context
def portbench(context: click.Context) -> None:
    advise = context.command.get_command(context, "advise")  # type: ignore[attr-defined]
    context.invoke(advise)
    click.echo(f"All commands: {NAME} --help")


def main() -> None:
    """The command `portbench`."""
    os.environ["PYTHONSAFEPATH"] = "1"  # processes of ours import nothing from the user's folder
    portbench.main()
