"""Verbs that need the engine say so where it is missing or torn, in one line."""

import re
import sys
from pathlib import Path

import pytest

from portbench.errors import PortbenchError
from tests import patience
from tests.ping_pong import NATIVE_IMAGE
from tests.runner.conftest import LIMIT_S, Invoke

ROOT = Path(__file__).parents[3]
VERBS = [
    ["desk"],
    ["flash", str(NATIVE_IMAGE)],
    ["trace", "portbench-native"],
    ["profile", "portbench-native"],
    ["gdb"],
    ["check", "silicon"],
]


class Without:
    """Finds the engine as one looks whose build was broken off, or which was never built."""

    def __init__(self, error: ImportError) -> None:
        self._error = error

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name == "portbench_engine":
            raise self._error


@pytest.mark.parametrize("words", VERBS, ids=lambda words: words[0])
@pytest.mark.parametrize(
    ("error", "says"),
    [
        (
            ImportError("_native.so: file too short"),
            "is damaged (_native.so: file too short); ",
        ),
        (ModuleNotFoundError("No module"), "is missing; "),
    ],
    ids=["torn", "missing"],
)
def test_without_an_engine(
    words: list[str], error: ImportError, says: str, invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "portbench_engine", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Without(error), *sys.meta_path])
    done = invoke(*words)
    assert done.exit_code == 1
    assert done.stderr == f"portbench: the emulated board's engine {says}install Rust (rustup), then run: make build\n"


@pytest.mark.engine
def test_gdb_is_waited_for_at_the_port_that_is_named(invoke: Invoke, monkeypatch: pytest.MonkeyPatch) -> None:
    def server(port: int, _: object) -> None:
        raise PortbenchError(f"at {port}")

    monkeypatch.setattr("portbench.boards.emulated.gdb_server.GdbServer", server)
    assert invoke("gdb", "portbench-native", "--port", "4711").stderr == "portbench: at 4711\n"


@pytest.mark.slow
def test_what_make_quick_runs_can_be_collected_without_the_engine() -> None:
    program = (
        "import sys; sys.modules['portbench_engine'] = None; import pytest; "
        "sys.exit(pytest.main(['tests', '-m', 'not engine and not slow', '--collect-only', '-q', '-n0']))"
    )
    done = patience.run([sys.executable, "-c", program], LIMIT_S, cwd=ROOT)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr
    collected = re.search(r"^(\d+)/\d+ tests collected", done.stdout, re.MULTILINE)
    assert collected is not None and int(collected[1]) > 2000
