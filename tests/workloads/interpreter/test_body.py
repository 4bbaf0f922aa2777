"""The body itself: under CPython loop by loop and as a CircuitPython client, under MicroPython as a hosted row."""

import json
import runpy
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from portbench.boards import board_definition
from portbench.boards.console import Console
from portbench.clients import build_deployment
from portbench.workloads.interpreter.workload import COMMON, MACHINE_CODE, WORKLOAD, Settings
from tests.workloads.conftest import hosted_result

SETTINGS = Settings(passes=50_000, repeats=2)  # long enough for the clock of a fast PC
BOARD = board_definition("RPI_PICO")


def names(body: dict[str, Any]) -> dict[str, tuple[Any, int, list[Any]]]:
    return {name: (loop, tenths, operands) for name, loop, tenths, *operands in body["loops"]()}


@pytest.fixture(scope="module")
def body() -> dict[str, Any]:
    client = ModuleType("portbench_client")
    client.__dict__["RESULT"] = {}
    path = WORKLOAD.body("micropython")
    assert path is not None
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "portbench_client", client)
        return runpy.run_path(str(path))


def test_all_ports_run_the_same_file() -> None:
    assert WORKLOAD.body("micropython") == WORKLOAD.body("circuitpython") == WORKLOAD.folder / "python.py"


@settings(deadline=None)
@given(passes=st.integers(16, 400))
def test_each_loop_computes_what_the_pc_expects(body: dict[str, Any], passes: int) -> None:
    loops = names(body)
    assert list(loops) == [loop.name for loop in COMMON]
    for loop in COMMON:
        function, tenths, operands = loops[loop.name]
        assert tenths == loop.tenths
        assert loop.is_answer(function([passes, *operands]), passes), loop.name


def test_the_seven_published_loops_take_their_operands_from_a_list(body: dict[str, Any]) -> None:
    loops = names(body)
    assert [loops[name][2] for name in ("int_add", "int_div", "float_mul", "power")] == [
        [12345678, 56781234],
        [99999991, 45481],
        [12345678.1234, 56781234.5678],
        [1234.5678, 2.3456],
    ]
    assert loops["int_add"][0] is loops["float_add"][0] and loops["int_mul"][0] is loops["float_mul"][0]


def test_hosted_micropython_measures_every_loop_and_its_machine_code() -> None:
    measured = WORKLOAD.check(hosted_result(BOARD, WORKLOAD, SETTINGS), SETTINGS)
    assert {len(times) for times in measured.samples.values()} == {SETTINGS.repeats}
    assert set(measured.samples) >= {f"{loop.name}_us" for loop in COMMON}


def test_circuitpythons_client_on_cpython_has_no_machine_code(tmp_path: Path) -> None:
    deployment = build_deployment("circuitpython", "9.1.4", BOARD, WORKLOAD, SETTINGS, None)
    for name, content in deployment.files.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "supervisor.py").write_text("class runtime:\n    serial_connected = True\n    autoreload = True\n")
    done = subprocess.run([sys.executable, "code.py"], cwd=tmp_path, capture_output=True, timeout=60, check=False)
    console = Console()
    console.feed(done.stdout + done.stderr)
    console.end()
    assert console.result is not None and "error" not in console.result, console.lines
    measured = WORKLOAD.check(console.result, SETTINGS)
    assert not {f"{loop.name}_us" for loop in MACHINE_CODE} & set(measured.samples)


def test_one_file_and_its_settings_are_all_that_is_deployed() -> None:
    files = build_deployment("micropython", "1.26.0", BOARD, WORKLOAD, Settings(), None).files
    assert set(files) == {"main.py", "portbench_config.json"}
    assert json.loads(files["portbench_config.json"]) == {"passes": 10_000, "repeats": 3}
