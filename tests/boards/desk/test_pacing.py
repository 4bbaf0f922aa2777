"""Simulated time against the host's clock."""

from hypothesis import given
from hypothesis import strategies as st

from portbench.boards.desk.pacer import Pace, Pacer

SLICE_US = 2000.0
CLK_SYS_HZ = 125_000_000
BUSY = int(SLICE_US * 125)


class Host:
    def __init__(self) -> None:
        self.now_s = 100.0

    def __call__(self) -> float:
        return self.now_s


def simulate(pacer: Pacer, host: Host, slices: list[float], *, start_us: float = 0.0, hurry: bool = False) -> float:
    """A busy board, each of whose slices of 2 ms takes the host so many seconds. Returns the simulated time in s."""
    time_us, instructions = start_us, 0
    for took_s in slices:
        time_us += SLICE_US
        instructions += BUSY
        host.now_s += took_s
        host.now_s += pacer.delay_s(time_us, instructions, CLK_SYS_HZ, hurry=hurry)
    return time_us / 1e6


def test_a_busy_board_on_the_desk_does_not_run_ahead() -> None:
    """E18: an alarm of 3 s woke a busy board 19 times in 13 s."""
    for hurry in (False, True):
        host = Host()
        assert round(simulate(Pacer(Pace.WALL_CLOCK, clock=host), host, [0.0001] * 6500, hurry=hurry), 6) == 13
        assert round(host.now_s - 100, 6) == 13


def test_a_free_one_does() -> None:
    host = Host()
    simulate(Pacer(clock=host), host, [0.0001] * 6500)
    assert round(host.now_s - 100, 6) == 0.65


@given(st.lists(st.floats(0, 0.4), max_size=300), st.sampled_from([Pace.WALL_CLOCK, Pace.REALTIME]))
def test_it_is_never_ahead(slices: list[float], pace: Pace) -> None:
    host = Host()
    simulated_s = simulate(Pacer(pace, clock=host), host, slices)
    assert simulated_s <= host.now_s - 100 + 1e-9


def test_a_host_that_was_held_up_catches_up_and_one_that_is_too_slow_says_so_once() -> None:
    host = Host()
    pacer = Pacer(Pace.WALL_CLOCK, clock=host)
    assert round(simulate(pacer, host, [0.2] + [0.0] * 999), 6) == 2.0
    assert (round(host.now_s - 100, 6), pacer.too_slow()) == (2.0, None)
    simulate(pacer, host, [0.3] * 5, start_us=2e6)
    said = "this PC is too slow for what the board does: 1.5 s behind the clock after 3.5 s"
    assert pacer.too_slow() == said
    simulate(pacer, host, [0.3] * 50, start_us=3e6)
    assert pacer.too_slow() is None


def test_what_was_simulated_in_one_go_is_not_waited_for() -> None:
    host = Host()
    pacer = Pacer(Pace.WALL_CLOCK, clock=host)
    assert pacer.delay_s(5e6, 0, CLK_SYS_HZ) == 0.0
    assert round(pacer.delay_s(5e6 + SLICE_US, 0, CLK_SYS_HZ), 6) == 0.002


def test_a_measured_run_is_flat_out() -> None:
    host = Host()
    pacer = Pacer(Pace.WALL_CLOCK, clock=host)
    pacer.flat_out = True
    simulate(pacer, host, [0.0001] * 1000)
    assert round(host.now_s - 100, 6) == 0.1
