"""A client's way to the PC, frame by frame on the cable."""

import pytest

from portbench.boards.emulated.client_watch import WayToPc

BOARD, PC = bytes([192, 168, 50, 100]), bytes([192, 168, 50, 1])
SYN, RST, ACK = 2, 4, 16
FREE_PORT, SERVER_PORT = 50_000, 5000


def packet(protocol: int, source: bytes, destination: bytes, body: bytes) -> bytes:
    return bytes(12) + b"\x08\x00" + b"\x45" + bytes(8) + bytes([protocol]) + bytes(2) + source + destination + body


def ports(source: int, destination: int) -> bytes:
    return source.to_bytes(2) + destination.to_bytes(2)


def tcp(to_board: bool, flags: int, sequence: int = 0) -> bytes:
    source, destination = (PC, BOARD) if to_board else (BOARD, PC)
    numbers = ports(SERVER_PORT, FREE_PORT) if to_board else ports(FREE_PORT, SERVER_PORT)
    body = numbers + sequence.to_bytes(4) + bytes(5) + bytes([flags]) + bytes(6)
    return packet(6, source, destination, body)


ASK = packet(17, bytes(4), b"\xff" * 4, ports(68, 67) + bytes(4))
ANSWER = packet(17, PC, BOARD, ports(67, 68) + bytes(4))
REFUSAL = tcp(True, RST | ACK)


class Cable:
    def __init__(self) -> None:
        self.time_us, self.link_up = 0.0, False
        self.logged = 0
        self.frames: list[tuple[float, float, bool, str, bytes]] = []

    def log_frames(self, limit: int) -> None:
        self.logged = limit

    def lan_frames(self) -> list[tuple[float, float, bool, str, bytes]]:
        frames, self.frames = self.frames, []
        return frames


class World:
    def __init__(self, phy_us: float = 1.5e6, dhcp_us: float = 0.0, *, wireless: bool = False) -> None:
        self.cable = Cable()
        self.way = WayToPc(self.cable, phy_us, dhcp_us, wireless=wireless)

    def at(self, s: float, frame: bytes = b"", to_board: bool = False, fate: str = "Delivered") -> str | None:
        self.cable.time_us = s * 1e6
        if frame:
            self.cable.frames.append((s * 1e6, s * 1e6, to_board, fate, frame))
        self.way.look()
        return self.way.lost()


@pytest.fixture
def world() -> World:
    linked = World()
    linked.cable.link_up = True
    return linked


def test_a_link_that_never_comes_and_one_that_goes() -> None:
    world = World(phy_us=3e6)
    assert world.at(10.9) is None
    said = world.at(11)
    assert said is not None and said.startswith("no link for 11 s of simulated time")
    world.cable.link_up = True
    assert world.at(12) is None
    world.cable.link_up = False
    assert world.at(13) is None and world.at(20.9) is None
    said = world.at(21)
    assert said is not None and said.startswith("no link for 8 s of simulated time")


@pytest.mark.parametrize(
    ("wireless", "why"),
    [
        (False, "the cable is out, or the Ethernet chip is held in reset"),
        (True, "the board has not joined the access point"),
    ],
)
def test_no_link_is_told_in_the_networks_words(wireless: bool, why: str) -> None:
    world = World(wireless=wireless)
    assert world.at(9.5) == f"no link for 9.5 s of simulated time: {why}"


def test_a_dhcp_server_that_is_not_there(world: World) -> None:
    assert world.at(2, ASK) is None and world.at(4, ASK) is None and world.at(6.9) is None
    said = world.at(7)
    assert said is not None and said.startswith("no DHCP answer in 5 s of simulated time")


def test_a_slow_dhcp_server_has_its_time() -> None:
    slow = World(dhcp_us=4e6)
    slow.cable.link_up = True
    slow.at(1, ASK)
    assert slow.at(9.9) is None and slow.at(10) is not None


@pytest.mark.parametrize("fate", ["Delivered", "Lost"])
def test_an_answer_is_one_even_where_it_is_lost(fate: str, world: World) -> None:
    world.at(1, ASK)
    world.at(2, ANSWER, to_board=True, fate=fate)
    assert world.at(60) is None


def test_what_never_reached_the_pc_was_not_asked(world: World) -> None:
    world.at(1, ASK, fate="Lost")
    assert world.at(60) is None


def test_refusals(world: World) -> None:
    assert world.at(1, REFUSAL, to_board=True) is None
    assert world.at(3.5, REFUSAL, to_board=True) is None  # a server may be about to start
    assert world.at(3.6, REFUSAL, to_board=True) == "connection refused: nothing listens at 192.168.50.1:5000"


def test_three_refusals_in_a_moment_are_not_yet_the_end(world: World) -> None:
    for number in range(5):
        assert world.at(1 + number / 1000, REFUSAL, to_board=True) is None
    assert world.at(3) is not None


def test_a_connection_ends_the_watch_but_for_the_link(world: World) -> None:
    world.at(1, ASK)
    for _ in range(3):
        world.at(1, REFUSAL, to_board=True)
    assert world.at(2, tcp(True, SYN | ACK, 77), to_board=True) is None and world.cable.logged == 0
    assert world.at(60) is None
    world.cable.link_up = False
    assert world.at(61) is None and world.at(69) is not None


@pytest.mark.parametrize(
    "frame",
    [b"", b"\x08" * 13, bytes(60), ASK[:36], REFUSAL[:50], tcp(True, RST, 5), tcp(True, RST | ACK, 5), tcp(True, ACK)],
)
def test_other_frames_tell_nothing(frame: bytes, world: World) -> None:
    for number in range(4):
        world.at(1 + number, frame, to_board=True)
        world.at(1 + number, frame)
    assert world.at(60) is None
