"""A comparison as a comment on a pull request."""

from portbench.results.compare import compare
from portbench.results.compare_comment import comment, mark
from tests.results.rows import row, run_of


def told(*totals_us: tuple[float, float]) -> list[str]:
    sides = zip(*totals_us, strict=True)
    both = compare(*(run_of(*(row(us, runtime=f"{n}", sim={}) for n, us in enumerate(side))) for side in sides))
    return comment(both, None, mark("speed", "pr.uf2", "")).splitlines()


def test_a_clean_change_has_at_most_20_lines() -> None:
    lines = told(*((100_000, 100_002 + more) for more in range(30)))
    assert lines[:2] == ["<!-- portbench speed pr.uf2 -->", "**portbench: 0 of 30 rows slower by more than 2 %.**"]
    assert lines[-1] == "The summary of the job has 20 rows more." and len(lines) <= 20
    (line,) = told((100_000, 100_002))[5:]
    assert "| +0.002 % |" in line and line.endswith("| within 2 % |")


def test_all_slow_rows_are_told() -> None:
    lines = told(*[(100, 97), (100, 103)] * 12)
    assert lines[1] == "**portbench: 12 of 24 rows slower by more than 2 %.**"
    assert [line.split(" | ")[-1] for line in lines[5:17]] == ["slower by 3.0 % |"] * 12


def test_a_mark_is_one_comment_of_html() -> None:
    assert mark("", "a --!> <b>\n", "x=/y") == "<!-- portbench a --- -b- x=/y -->"
