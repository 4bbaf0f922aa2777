"""The board's part: under MicroPython on the PC with scripts of ours, and with MicroPython's own where they are."""

import json
import runpy
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from portbench.boards import board_definition
from portbench.clients.libraries import driver_files
from portbench.errors import LibraryUnavailable
from portbench.workloads.perf_bench.workload import ALL, COMMON, WORKLOAD, Settings
from tests.measuring import measured
from tests.workloads.conftest import hosted_result

BOARD = board_definition("RPI_PICO")
SCRIPT = "bm_params = {(50, 10): (1,), (100, 10): (2,), (1000, 10): (3,)}\n"
SCRIPT += "def bm_setup(params):\n    return lambda: None, lambda: (params[0], [params[0], 'x'])\n"
NOT_FOR_ALL = {
    "core_import_mpy_multi": "import no_such_module\n",
    "core_import_mpy_single": "print('SKIP')\nraise SystemExit\n",
    "viper_call0": "@micropython.no_such_decorator\ndef f():\n    pass\n",
}
RUNNER = """
def bm_run(N, M):
    chosen = max(size for size in bm_params if 10 * size[0] <= 12 * N and size[1] <= M)
    run, result = bm_setup(bm_params[chosen])
    run()
    norm, answer = result()
    print(7, norm, answer)
"""


def on_the_pc(files: dict[str, bytes], settings: Settings, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The result of hosted MicroPython with these files on its board."""
    monkeypatch.setattr("portbench.clients.deployment.driver_files", lambda names, timeout_s: files)
    return hosted_result(BOARD, WORKLOAD, settings)


def test_each_script_runs_for_each_repeat_and_what_a_port_lacks_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    scripts = {name: NOT_FOR_ALL.get(name, SCRIPT) for name in ALL}
    files = {f"{name}.py": text.encode() for name, text in {**scripts, "benchrun": RUNNER}.items()}
    said = on_the_pc(files, Settings(repeats=2), monkeypatch)
    ran = {"times_us": [7, 7], "norm": 2, "answer": [2, "x"]}
    assert said["scripts"] == {name: ran for name in ALL if name not in NOT_FOR_ALL}
    assert on_the_pc(files, Settings(scripts="bm_fft", cpu_mhz=84, repeats=1), monkeypatch)["scripts"] == {
        "bm_fft": {"times_us": [7], "norm": 2, "answer": [2, "x"]}
    }


class SoftReset(BaseException):
    """The end of the script on a board whose program resets it."""


def test_a_board_resets_after_each_run_and_goes_on_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def soft_reset() -> None:
        raise SoftReset

    scripts = {"bm_fft": SCRIPT, "misc_aes": SCRIPT, "viper_call0": "raise SystemExit\n", "benchrun": RUNNER}
    for name, text in scripts.items():
        (tmp_path / f"{name}.py").write_text(text)
    asked = {"scripts": "bm_fft,viper_call0,misc_aes", "cpu_mhz": 100, "heap_kb": 100, "repeats": 2}
    config = tmp_path / "portbench_config.json"
    config.write_text(json.dumps(asked))
    client, machine = ModuleType("portbench_client"), ModuleType("machine")
    machine.__dict__["soft_reset"] = soft_reset
    monkeypatch.setitem(sys.modules, "portbench_client", client)
    monkeypatch.setitem(sys.modules, "machine", machine)
    monkeypatch.setattr(sys, "platform", "rp2")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    resets = 0
    while True:
        client.__dict__["RESULT"] = {}
        try:
            runpy.run_path(str(WORKLOAD.body("micropython")))["perf_bench"](**asked)
            break
        except SoftReset:
            resets += 1
    assert resets == 2 + 1 + 2
    ran = {"times_us": [7, 7], "norm": 2, "answer": [2, "x"]}
    assert client.__dict__["RESULT"]["scripts"] == {"bm_fft": ran, "misc_aes": ran}
    assert json.loads(config.read_text()) == asked


@pytest.fixture(scope="module")
def own_scripts() -> dict[str, bytes]:
    """MicroPython's scripts; skips where they are not at hand."""
    try:
        return driver_files(WORKLOAD.libraries("micropython", Settings()), 5.0)
    except LibraryUnavailable as error:
        pytest.skip(str(error))


def test_cpython_gives_the_answers_of_the_table(own_scripts: dict[str, bytes], tmp_path: Path) -> None:
    answers = json.loads((WORKLOAD.folder / "answers.json").read_text(encoding="utf-8"))
    assert list(answers) == sorted(ALL)
    for file, content in own_scripts.items():
        (tmp_path / file).write_bytes(content)
    for name in COMMON:
        script = runpy.run_path(str(tmp_path / f"{name}.py"))
        found = {}
        for parameters in script["bm_params"].values():
            run, result = script["bm_setup"](parameters)
            run()
            norm, answer = result()
            found[str(norm)] = json.loads(json.dumps(answer))
        assert answers[name] == found, name


def test_hosted_micropython_answers_as_cpython(own_scripts: dict[str, bytes], monkeypatch: pytest.MonkeyPatch) -> None:
    settings = Settings(repeats=1)
    measured = WORKLOAD.check(on_the_pc(own_scripts, settings, monkeypatch), settings)
    assert {f"{name}_score" for name in ALL} <= measured.figures.keys()


@pytest.mark.engine
@pytest.mark.slow
def test_two_boards_are_equal(own_scripts: dict[str, bytes], tmp_path: Path) -> None:
    of: dict[str, Any] = {"workloads": (WORKLOAD,), "runtimes": ("micropython-pico-1.26.1",)}
    of["settings"] = {"scripts": "bm_fft,core_import_mpy_multi,viper_call0", "repeats": 1}
    (one,), (other,) = (measured(tmp_path / name, **of) for name in ("one", "other"))
    assert one.figures == other.figures and one.figures["viper_call0_score"] > 0
