"""What keeps an image that tells nothing from its run's end, as far as the PC at the other end of the cable sees it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from portbench.boards.board import Unattended
from portbench.server.simulated_polling import SimulatedPolling
from portbench.workloads import Session

FIRST_FRAME_US: Final = 10e6
"""Twice what our own clients get: sketches like to wait for a terminal first."""


def given_up(
    now_us: float,
    alone: Unattended,
    sessions: Sequence[Session],
    *,
    link_up: bool,
    frames_from_board: int,
    server: str,
) -> str | None:
    """One line; None while it may still come. Times are since power-up, of a run whose end has not come yet."""
    ready_us = alone.ready_s * 1e6
    within = f"in {alone.ready_s:g} s of simulated time"
    if not sessions:
        if now_us < ready_us:
            return None
        if not frames_from_board:
            return f"no frame on the cable {within}" + ("" if link_up else ": the Ethernet chip's link is not up")
        return f"no connection to {server} {within}, only {frames_from_board} frames for others"
    last = sessions[-1]
    after = f"after {last.exchanges} of {alone.exchanges} exchanges"
    if last.error is not None:
        return f"{last.peer}: {last.error} ({after})"
    if last.ended_us is not None:
        return f"{last.peer} closed {after}; ask for fewer, or let the client play until the PC closes"
    heard_us = last.last_byte_us or last.established_us or last.started_us
    if now_us - heard_us >= ready_us:
        return f"{last.peer} is silent {within} {after}"
    return None


def not_taken(
    now_us: float, alone: Unattended, polling: SimulatedPolling, *, link_up: bool, frames_from_board: int
) -> str | None:
    """The same of an image that serves, while the PC calls it in vain."""
    board = polling.board
    if polling.taken or now_us < alone.ready_s * 1e6:
        return None
    within = f"in {alone.ready_s:g} s of simulated time"
    if board is None and frames_from_board:
        return f"no address in the {frames_from_board} frames of the board {within}"
    if board is None or not link_up:
        return f"no frame on the cable {within}" + ("" if link_up else ": the Ethernet chip's link is not up")
    if not polling.has_address:
        return f"no board at {board.address} {within}, and none that asked for an address by DHCP"
    if polling.refusals:
        return f"nothing listens at {board} {within}: refused {polling.refusals} times"
    return f"no answer from {board} {within}"
