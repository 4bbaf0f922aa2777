"""Parts that all boards share."""

from dataclasses import replace

import pytest

from portbench.boards import BoardDefinition, BoardUnavailable, Deployment, board_definition, require_wiring


def test_files_may_lie_in_folders() -> None:
    assert Deployment({"code.py": b"", "lib/a/b.py": b""}, "circuitpython").files.keys() == {"code.py", "lib/a/b.py"}


@pytest.mark.parametrize("name", ["/etc/passwd", "../x", "lib/../../x", "", "lib\\x"])
def test_files_stay_below_the_boards_root(name: str) -> None:
    with pytest.raises(ValueError, match="is not a path below the board's root"):
        Deployment({name: b""}, "micropython")


EVB = board_definition("W5500_EVB_PICO")
assert EVB.network is not None


@pytest.mark.parametrize("other", [EVB, replace(EVB, id="MINE", network=replace(EVB.network, default_hz=5_000_000))])
def test_the_same_wires_will_do(other: BoardDefinition) -> None:
    require_wiring(other, EVB, "portbench-native")


@pytest.mark.parametrize(
    "other",
    [
        replace(EVB, id="MINE", mcu="RP2350"),
        replace(EVB, id="MINE", network=None),
        replace(EVB, id="MINE", network=replace(EVB.network, chip="W5100S")),
        replace(EVB, id="MINE", network=replace(EVB.network, csn_pin=5)),
    ],
)
def test_other_wires_are_refused_in_one_line(other: BoardDefinition) -> None:
    with pytest.raises(BoardUnavailable) as caught:
        require_wiring(other, EVB, "portbench-native")
    assert str(caught.value) == (
        "MINE: portbench-native is built for the chips and pins of W5500_EVB_PICO, which this board has not;"
        " use a runtime whose client sets its pins"
    )
