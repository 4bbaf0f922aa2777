"""The group of verbs: one file each in `verbs/`, found by listing the folder, and loaded when it is wanted."""

from __future__ import annotations

import ast
import importlib
import importlib.metadata
import sys
from pathlib import Path
from typing import Any, Final, NoReturn

import click
from click.shell_completion import CompletionItem

from portbench.errors import OptionError, PortbenchError
from portbench.runner.cli import bash  # noqa: F401  (registers itself)
from portbench.runner.streams import close_quietly, prepare_streams
from portbench.shown import shown

NAME: Final = "portbench"
INTERRUPTED: Final = 130
"""Status after Ctrl-C, as shells have it."""
_VERBS: Final = Path(__file__).with_name("verbs")


class Verbs(click.Group):
    """Knows its verbs by their files' names, and what each is for by the first line of its file."""

    def list_commands(self, context: click.Context) -> list[str]:
        return sorted(path.stem for path in _VERBS.glob("[a-z]*.py"))

    def get_command(self, context: click.Context, name: str) -> click.Command | None:
        if name not in self.list_commands(context):
            return None
        verb = importlib.import_module(f"{__package__}.verbs.{name}")
        command: click.Command = verb.COMMAND
        command.name = name
        command.help = verb.__doc__
        return command

    def resolve_command(
        self, context: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and not args[0].startswith("-") and args[0] not in self.list_commands(context):
            verbs = ", ".join(self.list_commands(context))
            raise click.UsageError(f"{args[0]!r} is no verb; there are {verbs}", context)
        return super().resolve_command(context, args)

    def format_commands(self, context: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Verbs"):
            formatter.write_dl([(name, _purpose(name)) for name in self.list_commands(context)])

    def shell_complete(self, context: click.Context, incomplete: str) -> list[CompletionItem]:
        if incomplete.startswith("-"):
            return super().shell_complete(context, incomplete)
        found = (name for name in self.list_commands(context) if name.startswith(incomplete))
        return [CompletionItem(name, help=_purpose(name)) for name in found]

    def invoke(self, context: click.Context) -> Any:
        """Run the verb; what the user has to know becomes one line."""
        try:
            return super().invoke(context)
        except OptionError as error:
            name = context.invoked_subcommand or ""
            verb = self.get_command(context, name)
            place = context if verb is None else click.Context(verb, parent=context, info_name=name)
            raise click.UsageError(shown(str(error)), place) from None
        except PortbenchError as error:
            raise click.ClickException(shown(str(error))) from None
        except BrokenPipeError:
            raise
        except OSError as error:
            said = f"{error.filename}: {error.strerror}" if error.filename else str(error)
            raise click.ClickException(shown(said)) from None

    def main(self, *args: Any, **more: Any) -> NoReturn:
        """Ends the process: status 0, 1 where something failed, 2 for a wrong command line, 130 after Ctrl-C."""
        prepare_streams()
        try:
            status = super().main(*args, **{**more, "prog_name": NAME, "standalone_mode": False})
        except click.UsageError as error:
            place = error.ctx.command_path if error.ctx else NAME
            click.echo(f"{place}: {error.format_message().rstrip('.')}; see: {place} --help", err=True)
            status = 2
        except click.ClickException as error:
            click.echo(f"{NAME}: {error.format_message()}", err=True)
            status = error.exit_code
        except click.Abort:
            status = INTERRUPTED
        close_quietly()
        sys.exit(status or 0)


def _purpose(verb: str) -> str:
    """The first line of a verb's file, without running it: help and completion are to be there at once."""
    text = (_VERBS / f"{verb}.py").read_text(encoding="utf-8")
    return (ast.get_docstring(ast.parse(text)) or "").partition("\n")[0]


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
    no_args_is_help=False,
    invoke_without_command=True,
    help="Which Python firmware should I flash on this board, and why is it slow?",
)
@click.option("--version", is_flag=True, expose_value=False, is_eager=True, callback=_tell_version, help="And exit.")
@click.pass_context
def portbench(context: click.Context) -> None:
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


def main() -> None:
    """The command `portbench`."""
    portbench.main()
