"""Tests that a firmware cannot pass: their output is on a list with the reason, and any other output is wrong."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portbench.errors import PortbenchError
from portbench.runner.checks.check import Finding
from portbench.runner.checks.peers import differences
from portbench.runner.checks.peers.differences import Difference, explained, last_line, load
from portbench.runner.checks.peers.suite import Verdict, judged

PRINTED = b'Traceback (most recent call last):\r\n  File "<stdin>", line 1\r\nNameError: no x\r\nCRASH'
ENDS = Difference(because="no x here", tests=("a/*.py",), ends="NameError: no x")
PRINTS = Difference(because="just so", tests=("b.py",), prints=hashlib.sha256(b"1\n2\n").hexdigest()[:12])


def wrong(program: str) -> Finding:
    return judged(program, Verdict.WRONG)


@pytest.mark.parametrize(
    ("program", "printed", "verdict", "said"),
    [
        ("a/one.py", PRINTED, Verdict.BUILD, "no x here"),
        ("b.py", b"1\n2\n", Verdict.BUILD, "just so"),
        # Another test with the same fault, the same test with another, and one digit more.
        ("c/one.py", PRINTED, Verdict.WRONG, "NameError: no x"),
        ("a/one.py", PRINTED.replace(b"no x", b"no y"), Verdict.WRONG, "NameError: no y"),
        ("b.py", b"1\n2\n3\n", Verdict.WRONG, "3"),
        ("b.py", b"", Verdict.WRONG, ""),
    ],
)
def test_only_what_the_list_says_is_explained(program: str, printed: bytes, verdict: Verdict, said: str) -> None:
    found = explained(wrong(program), printed, (ENDS, PRINTS))
    assert (found.name, found.outcome, found.note) == (program, verdict, said)


@given(st.binary())
def test_the_last_line_is_one_line_of_any_bytes(printed: bytes) -> None:
    line = last_line(printed)
    assert line == line.strip() and "\n" not in line and line != "CRASH"
    assert last_line(printed + b"\nlast\nCRASH\n") == "last"


def test_a_list_that_says_nothing_or_two_things_of_a_test_is_told(tmp_path: Path) -> None:
    path = tmp_path / "list.toml"
    for keys in ("", 'ends = "x"\nprints = "0123456789ab"\n'):
        path.write_text(f'[[difference]]\nbecause = "why"\ntests = ["a.py"]\n{keys}')
        with pytest.raises(PortbenchError, match=r"^list\.toml: .*by one of ends and prints"):
            load(path)
    path.write_text("no list")
    with pytest.raises(PortbenchError, match=r"list\.toml"):
        load(path)


def test_circuitpythons_list_has_each_test_once_and_a_reason_for_each() -> None:
    known = load(Path(differences.__file__).with_name("circuitpython.toml"))
    patterns = [(pattern, each.ends, each.prints) for each in known for pattern in each.tests]
    assert len(known) > 20 and len(patterns) == len(set(patterns)) and all(each.because for each in known)


@pytest.mark.engine  # the suites import the emulated board
def test_circuitpythons_script_tells_by_lines_and_counts_at_its_end() -> None:
    from portbench.runner.checks.peers.circuitpython import read_output

    lines = [
        "skip  c.py",
        "pass  b/two.py",
        "FAIL  a.py",
        "2 tests performed (31 individual testcases)",
        "1 tests passed",
    ]
    outcomes, cases = read_output(lines)
    assert cases == 31
    assert [(each.name, each.outcome) for each in outcomes] == [
        ("a.py", Verdict.WRONG),
        ("b/two.py", Verdict.RIGHT),
    ]
    with pytest.raises(PortbenchError, match="counts 2 tests, and told of 1"):
        read_output([lines[1], lines[3]])
    with pytest.raises(PortbenchError, match=r"ended without its count; it said: FAIL  a\.py"):
        read_output(lines[:3])
    with pytest.raises(PortbenchError, match="it said: nothing"):
        read_output([])
