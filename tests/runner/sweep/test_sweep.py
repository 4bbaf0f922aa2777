"""A sweep of `portbench run` as a person starts it, is interrupted in it, and goes on."""

import contextlib
import json
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import psutil
import pytest

from portbench.boards import Deadline
from portbench.errors import LibraryMissing
from portbench.results import storage
from portbench.results.model import Row
from portbench.runner.bench import Bench
from portbench.runner.options import read_options
from portbench.runner.plan import plan
from portbench.runner.program import image_store
from portbench.runner.sweep.plan import plan_sweep
from portbench.runner.sweep.run import SweepRun
from tests import patience
from tests.results.rows import row
from tests.runner.conftest import COMMAND, Invoke, Start

_LIMIT_S = 90.0
SEVERAL = "--setting=spi_hz=1M,2M"
NATIVE = "--runtime=portbench-native"


def until(condition: Callable[[], bool], what: str) -> None:
    Deadline(_LIMIT_S, "test").poll(condition, 0.01, what)


def running(family: list[psutil.Process]) -> list[psutil.Process]:
    found = []
    for each in family:
        with contextlib.suppress(psutil.NoSuchProcess):
            if each.is_running() and each.status() != psutil.STATUS_ZOMBIE:
                found.append(each)
    return found


def lines(path: Path) -> list[dict[str, Any]]:
    """Those of rows."""
    text = path.read_text() if path.exists() else ""
    found = [json.loads(line) for line in text[: text.rfind("\n") + 1].splitlines()]  # the last may be half written
    return [line for line in found if "row" in line]


def alone(folder: Path, **asked: Any) -> Row:
    """The row as `portbench run` measures it."""
    options = read_options({"runtime": ["portbench-native"], "where": "emulated", "results_dir": folder, **asked})
    (planned,) = plan(options)
    with closing(Bench(options, image_store([planned.entry]), folder)) as bench:
        return bench.measure(planned).row


@pytest.mark.engine
def test_one_point_is_shown_without_a_chart(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All others of the sweep failed."""
    asked = {"runtime": ["portbench-native"], "setting": ["spi_hz=1M,2M"], "results_dir": tmp_path}
    options = read_options(asked, sweeps=True)
    sweep = SweepRun(asked, options)
    job = plan_sweep(options).jobs[0]
    sweep._show([(job, row(5000, runtime="portbench-native"))], as_json=True)
    assert len(json.loads(capsys.readouterr().out)["points"]) == 1 and not list(tmp_path.rglob("*.svg"))


@pytest.mark.engine
@pytest.mark.slow
def test_a_killed_process_costs_its_job_and_a_killed_sweep_goes_on(
    in_process: Start, empty: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    words = [
        "run",
        NATIVE,
        "--setting=turnaround_us=100..300+10",
        "--messages=20",
        "--name=s",
        "--parallel=2",
        "--chart=c.svg",
    ]
    stored = empty / "results" / "sweeps" / "s.jsonl"
    with patience.started(
        [*COMMAND, *words], cwd=empty, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as process:
        until(lambda: len(lines(stored)) >= 2 or process.poll() is not None, "two rows")
        family = psutil.Process(process.pid).children(recursive=True)
        workers = [each for each in family if any("spawn_main" in word for word in each.cmdline())]
        workers[0].kill()
        before = len(lines(stored))
        until(lambda: len(lines(stored)) >= before + 4 or process.poll() is not None, "rows after a process was killed")
        assert process.poll() is None, "it was over before it could be killed; give it more points"
        family = psutil.Process(process.pid).children(recursive=True)
    until(lambda: not running(family), "its processes to end")
    kept = lines(stored)
    done = in_process(*words, "--json")
    assert done.returncode == 0, done.stderr
    assert f"{len(kept)} of 21 rows are there already" in done.stderr
    rows = lines(stored)
    assert rows[: len(kept)] == kept and set(Counter(each["job"] for each in rows).values()) == {1} and len(rows) == 21
    assert {each["row"]["status"] for each in rows} == {"measured"}
    told = json.loads(done.stdout)
    assert [each["turnaround_us"] for each in told["points"]] == list(range(100, 310, 10)) and told[
        "diminishing_returns"
    ]
    found = storage.read(stored)
    assert found.name == "s" and len(found.rows) == 21 and found == storage.read(empty / "results" / "latest.json")
    (row,) = (each for each in found.rows if each.conditions.turnaround_us == 250)
    same = alone(tmp_path / "alone", messages="20", setting=["seed=fixed", "turnaround_us=250"])
    assert row.simulated_figures() == same.simulated_figures()
    assert (empty / "c.svg").read_text().lstrip().startswith("<?xml")
    again = in_process(*words, "--x=messages")
    assert again.returncode == 2 and "--x messages: is not an axis of this sweep with several numbers" in again.stderr


@pytest.mark.engine
@pytest.mark.slow
def test_ctrl_c_keeps_what_was_measured_and_leaves_nothing_running(empty: Path, environment: dict[str, str]) -> None:
    words = ["run", NATIVE, "--setting=turnaround_us=100..300+10", "--messages=20", "--name=s", "--parallel=1"]
    stored = empty / "results" / "sweeps" / "s.jsonl"
    with patience.started([*COMMAND, *words], cwd=empty, env=environment, stderr=subprocess.PIPE) as process:
        until(lambda: len(lines(stored)) >= 1 or process.poll() is not None, "a row")
        family = psutil.Process(process.pid).children(recursive=True)
        process.send_signal(signal.SIGINT)
        _, said = patience.communicate(process, _LIMIT_S)
    assert process.returncode == 130 and "the same command goes on from here" in said, said
    until(lambda: not running(family), "its processes to end")
    assert 1 <= len(lines(stored)) < 21 and sorted(path.name for path in stored.parent.iterdir()) == [
        "s.jsonl",
        "s.lock",
    ]


def test_a_dry_run_says_how_much_it_would_be(invoke: Invoke, tmp_path: Path) -> None:
    done = invoke("run", NATIVE, "--setting=spi_hz=1M..32M*2", "--setting=intn=no,yes", "--dry-run")
    assert done.exit_code == 0 and "12 rows, 1 images; axes: spi_hz 1M 2M 4M" in done.stdout
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize(
    "words, status, said",
    [
        (
            [SEVERAL, "--workload=interpreter"],
            2,
            "spi_hz: is a setting of sd_card, those that use the network, not of interpreter",
        ),
        (
            ["--setting=runtime=nothing", SEVERAL],
            2,
            "unknown runtime or .uf2 file 'nothing'; see: portbench list runtimes",
        ),
        (["--setting=runtime=micropython-1.26.0", SEVERAL], 2, "micropython-1.26.0: "),
        ([NATIVE, SEVERAL, "--chart=a.bmp"], 2, "--chart a.bmp: a chart is one of .svg, .png, .pdf"),
        ([NATIVE, SEVERAL, "--messages=0"], 2, "messages"),
        ([NATIVE, SEVERAL, "--where=silicon"], 2, "spi_hz: a sweep measures emulated rows alone"),
        ([NATIVE, "--chart=a.svg"], 2, "--x, --chart: are for a sweep; give a setting several values"),
        ([SEVERAL, "--workload=ping_pong", "--workload=bulk"], 2, "are measured with one workload; name one"),
    ],
)
def test_a_slip_is_told_and_nothing_is_begun(
    invoke: Invoke, tmp_path: Path, words: list[str], status: int, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PORTBENCH_FIRMWARE_DIR", str(tmp_path))  # without images
    done = invoke("run", *words)
    assert done.exit_code == status and said in done.stderr and len(done.stderr.splitlines()) == 1, done.stderr
    assert not (tmp_path / "results").exists()


@pytest.mark.parametrize("library", ["kneed", "matplotlib"])
def test_a_missing_library_is_told_before_a_row_is_measured(
    library: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked = {"runtime": ["portbench-native"], "setting": ["spi_hz=1M,2M"], "results_dir": tmp_path}
    sweep = SweepRun(asked, read_options(asked, sweeps=True))
    monkeypatch.setitem(sys.modules, library, None)
    monkeypatch.setattr(sweep, "_measure", lambda *_: pytest.fail("it measures"))
    with pytest.raises(LibraryMissing, match=rf"^a sweep needs {library}; install it: pip install .*\[sweep\]'$"):
        sweep.measure(None, as_json=False)
    assert not list(tmp_path.iterdir())


def test_no_cluster_and_no_chart_is_imported_where_none_is_asked_for() -> None:
    code = (
        "import sys, portbench.runner.cli.verbs.run;"
        "print([each for each in 'dask distributed matplotlib kneed pytest scipy'.split() if each in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=_LIMIT_S, check=True)
    assert done.stdout.strip() == "[]"
