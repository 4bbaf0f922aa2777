"""Files for other tools, read by the tool, or held to the schema that its documents give."""

import importlib
import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jsonschema
import pytest

from portbench.results.exports import exported, formats
from portbench.results.model import Git, RunFile
from portbench.results.storage import StorageError, to_json
from tests.results.rows import other_row, row, run_of
from tests.results.test_run_perfbench import scripts
from tests.runner.conftest import Invoke

COMMIT = "0123456789abcdef0123456789abcdef01234567"
RUN = run_of(
    *(row(4000 + 400 * index, index, runtime="a/b") for index in range(3)),
    row(2000, board="RPI_PICO", sim={}, conditions={"spi_hz_asked": 8_000_000, "turnaround_us": 200}),
    row(2000, board="RPI_PICO", sim={}, conditions={"spi_hz_asked": 20_000_000, "turnaround_us": 300}),
    other_row(20),
    scripts(chaos=[200_000, 250_000], fft=[500_000, 500_000]),
    git=Git(revision=COMMIT, dirty=False),
)
NAMES = [
    "ping_pong some-1.0 RPI_PICO emulated, spi_hz_asked=8000000, turnaround_us=200 messages_per_s",
    "ping_pong some-1.0 RPI_PICO emulated, spi_hz_asked=20000000, turnaround_us=300 messages_per_s",
    "ping_pong a/b emulated messages_per_s",
    "far_away some-1.0 emulated lag_us",
    *(f"perf_bench some-1.0 emulated {name}" for name in ("score", "bm_chaos_score", "bm_fft_score")),
]
ENTRY = {name: {"type": "string"} for name in ("name", "unit", "range", "extra")} | {"value": {"type": "number"}}
METRIC = {name: {"type": "number"} for name in ("value", "lower_value", "upper_value")}
BENCHMARK = {"type": "object", "patternProperties": {".+": {"properties": METRIC, "required": ["value"]}}}
BENCHER = {"type": "object", "patternProperties": {".+": BENCHMARK}}
"""Published by Bencher."""
GITHUB = {"items": {"properties": ENTRY, "required": ["name", "unit", "value"], "additionalProperties": False}}
"""In words in the README of github-action-benchmark."""


def documents(run: RunFile, name: str) -> dict[str, Any]:
    return {path: json.loads(text) for path, text in exported(run, name).items()}


def test_files_are_as_the_tools_describe_them() -> None:
    bigger, smaller = documents(RUN, "github-action-benchmark").values()
    (bencher,) = documents(RUN, "bencher").values()
    for document, schema in ((bigger, GITHUB), (smaller, GITHUB), (bencher, BENCHER)):
        jsonschema.validate(document, schema)
    assert [entry["name"] for entry in (*smaller, *bigger)] == sorted(NAMES, key=lambda name: "lag" not in name)
    assert (smaller[0]["unit"], smaller[0]["value"], smaller[0]["range"]) == ("us", 20, "20 to 20")
    rate = {"value": 4e6 / 4400, "lower_value": 4e6 / 4800, "upper_value": 1000}
    assert bencher["ping_pong a/b emulated"]["messages_per_s"] == pytest.approx(rate)
    assert list(bencher["perf_bench some-1.0 emulated"]) == ["score", "bm_chaos_score", "bm_fft_score"]


def test_asv_reads_its_results(tmp_path: Path, invoke: Invoke) -> None:
    Path("run.json").write_text(to_json(RUN))
    done = invoke("show", "run.json", "--export", "asv", "--output", "results")
    assert done.stdout.split() == [
        f"results/{name}" for name in ("benchmarks.json", "portbench/machine.json", "portbench/01234567-portbench.json")
    ]
    asv = pytest.importorskip("asv.results", reason="asv is not installed; run: make dependencies")
    (results,) = asv.iter_results_for_machine_and_hash("results", "portbench", COMMIT)
    assert results.commit_hash == COMMIT and set(results.get_all_result_keys()) == set(NAMES)
    assert results.get_result_value(NAMES[2], []) == [pytest.approx(0.0011)]
    assert len(results.get_result_samples(NAMES[2], [])[0]) == 3
    conf = SimpleNamespace(results_dir="results", benchmark_dir="")
    known = importlib.import_module("asv.benchmarks").Benchmarks.load(conf)
    assert [known[name]["unit"] for name in NAMES[2:5]] == ["s/message", "us", "1/score"]


def test_asv_needs_a_commit() -> None:
    with pytest.raises(StorageError, match="asv: keeps results by commit"):
        exported(RUN.model_copy(update={"git": None}), "asv")
    hostile = RUN.model_copy(update={"git": Git(revision="../../../x", dirty=False)})
    assert not any(".." in path for path in exported(hostile, "asv"))


def test_upstreams_results_have_the_scores() -> None:
    ((path, found),) = documents(RUN, "run-perfbench").items()
    assert path == "perf_bench-some-1.0-emulated/_results.json"
    assert found == {
        "args": {"N": ["100"], "M": ["90"], "average": "2", "test_instance": "some-1.0"},
        "results": [
            ["perf_bench/bm_chaos.py", "pass", "225000.00 11.1111 180.00 11.1111"],
            ["perf_bench/bm_fft.py", "pass", "500000.00 0.0000 1536.00 0.0000"],
        ],
        "failed_tests": [],
        "ignored_tests": [],
        "scores": {"perf_bench/bm_chaos.py": [200, 160], "perf_bench/bm_fft.py": [1536, 1536]},
    }


def test_formats_are_listed_and_refused_without_a_figure(invoke: Invoke) -> None:
    page = (Path(__file__).parents[3] / "docs" / "results-format.md").read_text(encoding="utf-8")
    assert all(f"| `{name}` |" in page for name in formats())
    Path("run.json").write_text(to_json(run_of(row(100))))
    done = invoke("show", "run.json", "--export", "run-perfbench")
    assert done.exit_code == 1 and "--export run-perfbench: the run has no figure for it" in done.stderr
