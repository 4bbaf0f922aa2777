"""Two kinds of boards side by side, by family."""

from portbench.results.boards_beside import as_data, markdown
from tests.results.rows import missing, other_row, row, run_of

CABLE, RADIO = {"board": "W5500_EVB_PICO"}, {"board": "RPI_PICO_W", "version": "1.1"}


def test_the_best_of_each_family_stands_beside_the_other_s() -> None:
    one = run_of(
        row(4000, profile="slow", **CABLE),
        row(2000, profile="tuned", **CABLE),
        other_row(5, profile="tuned", **CABLE),
        row(1000, family="wiznet", runtime="w", **CABLE),
    )
    slower = row(9000, profile="slow", **RADIO)
    other = run_of(slower, row(8000, profile="as-built", **RADIO), other_row(20, profile="as-built", **RADIO))
    table = markdown(one, other).splitlines()
    assert [cell.strip() for cell in table[0].strip("|").split("|")] == [
        "workload", "family", "W5500_EVB_PICO", "RPI_PICO_W", "", "times",
    ]  # fmt: skip
    assert [[cell.strip() for cell in line.strip("|").split("|")] for line in table[2:]] == [
        ["Ping-pong", "micropython", "2000 (1.0 tuned)", "500 (1.1 as-built)", "messages/s", "0.25"],
        ["far_away", "micropython", "5 (1.0 tuned)", "20 (1.1 as-built)", "us", "0.25"],
    ]


def test_what_was_not_measured_has_its_reason_and_other_settings_are_not_compared() -> None:
    slower = row(4000, family="wiznet", runtime="slow", **CABLE)
    one = run_of(row(2000, **CABLE), slower, row(2000, family="wiznet", runtime="w", **CABLE))
    failed = missing("some", "failed", "no | way", board="RPI_PICO_W", family="micropython")
    others = row(2000, trips=[1.0] * 9, family="wiznet", **RADIO)
    elsewhere = missing("w", "failed", "of another workload", workload="far_away")
    (first, second) = as_data(one, run_of(elsewhere, failed, others))
    assert (first["rows"][1], first["times"]) == ({"reason": "no | way"}, None)
    assert (second["rows"][1], second["times"]) == ({"reason": "other settings"}, None)
    assert second["rows"][0]["runtime"] == "w"
    told = markdown(one, run_of(failed, others)).splitlines()
    assert "| - " in told[2]
    assert told[-2:] == [
        "- Ping-pong, micropython, RPI_PICO_W: no \\| way",
        "- Ping-pong, wiznet, RPI_PICO_W: other settings",
    ]
