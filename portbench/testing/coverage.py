"""Coverage of the Python lines that a board runs.

No released port has `sys.settrace`. Instead the board gets its files with a mark in front of each statement: an item of
a `bytearray`, which the host reads from the board's memory. No line moves, so tracebacks stay true.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from portbench.errors import BoardError
from portbench.testing.simulation import RecordedSimulation

_BEGIN: Final = "PORTBENCH-LINES-"
_END: Final = "-END"
_UNSEEN: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Try, ast.Global, ast.Nonlocal)
"""Statements without a mark. Their bodies have some."""


@dataclass
class Lines:
    """One file: its statements' first lines, and those that ran."""

    source: str
    """The file of this machine, else its path on the board."""
    all: frozenset[int]
    covered: set[int] = field(default_factory=set)

    @property
    def missing(self) -> list[int]:
        return sorted(self.all - self.covered)


class Coverage:
    """The marked files of one board."""

    def __init__(self, simulation: RecordedSimulation) -> None:
        self._simulation = simulation
        self._files: dict[str, Lines] = {}
        self._names: list[str] = []

    def mark(self, path: str, content: Path | str | bytes) -> bytes:
        """The file `path` with marks; as it is, unless it is Python source. Raises BoardError."""
        data = content_of(path, content)
        if not path.endswith(".py"):
            return data
        try:
            marked, lines = marked_source(data.decode("utf-8"), len(self._names))
        except SyntaxError as error:
            raise BoardError(f"{path}: line {error.lineno}: {error.msg}; only Python can be covered") from None
        self._names = ["" if name == path else name for name in self._names]  # an older version's marks mean nothing
        self._names.append(path)
        self._files[path] = Lines(str(content) if isinstance(content, Path) else path, lines)
        return marked.encode()

    def collect(self) -> Mapping[str, Lines]:
        """All marked files, with the lines that ran until now."""
        if self._names:
            machine = self._simulation.machine
            memory = machine.read_sram(*machine.sram)
            for number, path in enumerate(self._names):
                if path:
                    self._files[path].covered |= set(_marks(memory, number)) & self._files[path].all
        return self._files


def content_of(path: str, content: Path | str | bytes) -> bytes:
    """The file `path` as it is."""
    data = content.read_bytes() if isinstance(content, Path) else content
    return data.encode() if isinstance(data, str) else data


def marked_source(text: str, number: int) -> tuple[str, frozenset[int]]:
    """The program `text` with a mark in front of each statement, and their lines. Raises SyntaxError."""
    tree = ast.parse(text)
    lines = [line.encode() for line in text.split("\n")]
    begin = f"{_BEGIN}{number}:"
    marks = {each.lineno: each for each in reversed(list(_statements(tree)))}
    for line, statement in marks.items():
        index = len(begin) + line
        head = _head(statement)
        if head is None:
            edits = [(statement.lineno, statement.col_offset, f"_pbm[{index}]=1;")]
        else:  # None or the value: the value
            assert head.end_lineno is not None and head.end_col_offset is not None
            edits = [
                (head.end_lineno, head.end_col_offset, ")"),
                (head.lineno, head.col_offset, f'_pbp("B",_pbm,{index},1)or('),
            ]
        for at, column, inserted in edits:
            lines[at - 1] = lines[at - 1][:column] + inserted.encode() + lines[at - 1][column:]
    size = len(begin) + len(lines) + 1 + len(_END)
    prologue = (
        f"from struct import pack_into as _pbp;_pbm=bytearray({size});"
        f"_pbm[:{len(begin)}]=b{begin!r};_pbm[{size - len(_END)}:]=b{_END!r}"
    )
    return _begun(lines, tree, prologue), frozenset(marks)


def _begun(lines: list[bytes], tree: ast.Module, prologue: str) -> str:
    """The program with the prologue on its first line that allows one."""
    first = tree.body[0] if tree.body else None
    if first is None or lines[0].lstrip()[:1] in (b"#", b""):
        lines[0] = prologue.encode()
    elif isinstance(first, _UNSEEN) or _head(first) is not None:
        raise SyntaxError("begin the file with a comment or an import", ("", 1, 0, ""))
    else:
        lines[0] = prologue.encode() + b";" + lines[0]
    return b"\n".join(lines).decode()


def _statements(node: ast.AST) -> Iterator[ast.stmt]:
    """The statements that get a mark; none of a body in assembler."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef) and any("asm" in ast.unparse(each) for each in child.decorator_list):
            continue
        text = isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
        if isinstance(child, ast.stmt) and not isinstance(child, _UNSEEN) and not text:
            yield child
        yield from _statements(child)


def _head(statement: ast.stmt) -> ast.expr | None:
    """The expression of a compound statement that runs first."""
    match statement:
        case ast.If(test=head) | ast.While(test=head) | ast.For(iter=head) | ast.AsyncFor(iter=head):
            return head
        case ast.With(items=[ast.withitem(context_expr=head), *_]):
            return head
        case ast.AsyncWith(items=[ast.withitem(context_expr=head), *_]):
            return head
    return None


def _marks(memory: bytes, number: int) -> Iterator[int]:
    """The lines that ran, of all arrays of a file in `memory`: an import or a reset makes another."""
    begin = f"{_BEGIN}{number}:".encode()
    for found in re.finditer(re.escape(begin) + rb"([\x00\x01]+)" + _END.encode(), memory):
        yield from (line for line, mark in enumerate(found[1]) if mark)


def lcov(files: Mapping[str, Lines]) -> str:
    """The report that genhtml, Codecov and editors read: https://manpages.debian.org/geninfo."""
    records = []
    for each in files.values():
        data = "".join(f"DA:{line},{int(line in each.covered)}\n" for line in sorted(each.all))
        records.append(f"SF:{each.source}\n{data}LF:{len(each.all)}\nLH:{len(each.covered)}\nend_of_record\n")
    return "".join(records)
