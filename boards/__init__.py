"""Boards: definitions, the one interface, and real, emulated and hosted implementations of it."""

from portbench.boards.board import Board, Deployment, OwnNetwork, Progress, RunOutput, RuntimeIdentity, Unattended
from portbench.boards.console import ASK_FOR_RESULT, Console, parse_result
from portbench.boards.definition import (
    BoardDefinition,
    Ethernet,
    Wifi,
    board_definition,
    board_of_machine,
    boards_taking,
    known_boards,
    load_board,
    require_wiring,
)
from portbench.boards.timing import Deadline
from portbench.boards.wifi import WifiCredentials, users_credentials
from portbench.errors import BoardError, BoardUnavailable, BrokenSetup, ConsoleLost, DeadlineExceeded

__all__ = [
    "ASK_FOR_RESULT",
    "Board",
    "BoardDefinition",
    "BoardError",
    "BoardUnavailable",
    "BrokenSetup",
    "Console",
    "ConsoleLost",
    "Deadline",
    "DeadlineExceeded",
    "Deployment",
    "Ethernet",
    "OwnNetwork",
    "Progress",
    "RunOutput",
    "RuntimeIdentity",
    "Unattended",
    "Wifi",
    "WifiCredentials",
    "board_definition",
    "board_of_machine",
    "boards_taking",
    "known_boards",
    "load_board",
    "parse_result",
    "require_wiring",
    "users_credentials",
]
