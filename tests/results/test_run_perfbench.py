"""Rows of perf_bench in the form of MicroPython's run-perfbench.py."""

import statistics
from typing import Any

from portbench.results.compare import compare
from portbench.results.compare_table import markdown
from portbench.results.model import Row
from portbench.results.run_perfbench import differences
from tests.results.rows import other_row, row, run_of


def scripts(*, chaos: list[int], fft: list[int] | None = None) -> Row:
    samples = {"bm_chaos_us": chaos} | ({"bm_fft_us": fft} if fft else {})
    figures: dict[str, Any] = {"score": 100 * chaos[0]}
    for name, norm in (("bm_chaos", 40), ("bm_fft", 768)):
        if times := samples.get(f"{name}_us"):
            figures[f"{name}_us"] = statistics.median(times)
            figures[f"{name}_score"] = norm * 1e6 / figures[f"{name}_us"]
    return other_row(
        1,
        workload="perf_bench",
        sim={},
        headline={"name": "score", "unit": "score"},
        settings={"scripts": "all", "cpu_mhz": 100, "heap_kb": 90, "repeats": len(chaos)},
        figures=figures,
        samples=samples,
    )


def test_it_is_the_form_of_the_script() -> None:
    """The lines are those that run-perfbench.py of MicroPython 1.28 printed for two files with these figures."""
    both = compare(
        run_of(scripts(chaos=[200_000, 250_000], fft=[500_000, 500_000])),
        run_of(scripts(chaos=[250_000, 250_000], fft=[400_000, 400_000])),
    )
    assert differences(both) == SCORES
    assert differences(both, times=True) == TIMES
    assert f"\n```text\n{SCORES}```\n" in markdown(both, None)
    assert f"\n```text\n{TIMES}```\n" in markdown(both, None, times=True)


def test_scripts_of_one_side_and_rows_of_others_are_left_out() -> None:
    both = compare(run_of(scripts(chaos=[200_000], fft=[500_000])), run_of(scripts(chaos=[200_000])))
    assert [line.split()[0] for line in differences(both).splitlines()[2:]] == ["bm_chaos.py"]
    assert differences(compare(run_of(row(100, sim={})), run_of(row(110, sim={})))) == ""
    many = scripts(chaos=[200_000])
    for name in "hgfedcba":
        many.samples[f"{name}_us"], many.figures[f"{name}_us"], many.figures[f"{name}_score"] = [5.0], 5.0, 1.0
    said = [line.split()[0] for line in differences(compare(run_of(many), run_of(many))).splitlines()[2:]]
    assert said == sorted(said) and len(said) == 9


SCORES = """\
diff of scores (higher is better)
N=100 M=90                          A ->          B         diff      diff% (error%)
bm_chaos.py                    180.00 ->     160.00 :     -20.00 = -11.111% (+/-11.11%)
bm_fft.py                     1536.00 ->    1920.00 :    +384.00 = +25.000% (+/-0.00%)
"""
TIMES = """\
diff of microsecond times (lower is better)
N=100 M=90                          A ->          B         diff      diff% (error%)
bm_chaos.py                 225000.00 ->  250000.00 :  +25000.00 = +11.111% (+/-11.11%)
bm_fft.py                   500000.00 ->  400000.00 : -100000.00 = -20.000% (+/-0.00%)
"""
