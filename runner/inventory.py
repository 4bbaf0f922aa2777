"""Runtimes with their images, workloads and boards, as plain data. Downloads nothing."""

from typing import Any

from portbench.boards import BoardDefinition, board_definition, known_boards
from portbench.errors import UnknownName
from portbench.firmware import catalogue
from portbench.firmware.catalogue import FirmwareEntry, Profile
from portbench.firmware.images import ImageStore, ImageUnavailable, package_version
from portbench.runner.options import DEFAULT_BOARD
from portbench.runner.plan import why_not
from portbench.runner.program import image_store, profile_line
from portbench.workloads import Workload, workloads
from portbench.workloads.native import native_image


def inventory() -> dict[str, list[dict[str, Any]]]:
    """Runtimes, workloads and boards. Raises PortbenchError."""
    known = catalogue.load()
    store = image_store(known)
    return {
        "runtimes": [_runtime(entry, store) for entry in known],
        "workloads": [workload_inventory(each) for each in workloads().values()],
        "boards": [_board(each) for each in known_boards().values()],
    }


def _runtime(entry: FirmwareEntry, store: ImageStore) -> dict[str, Any]:
    try:
        board = board_definition(entry.board)
    except UnknownName:  # a port that runs on the PC
        board = board_definition(DEFAULT_BOARD)
    image = _image(entry, store)
    return {
        "id": entry.id,
        "family": str(entry.family),
        "board": entry.board,
        "version": _version(entry),
        "file": entry.file,
        "image": image,
        "provide": store.command(entry) if image == "missing" else None,
        "workloads": [each.name for each in workloads().values() if why_not(entry, board, each) is None],
        "profiles": [_profile(entry, board, profile) for profile in entry.profiles],
    }


def _image(entry: FirmwareEntry, store: ImageStore) -> str:
    """`folder` (of the user's), `cache`, `package` (installed), `bundled`, or `missing`."""
    if entry.family.traits.client_in_image and entry.path is None:
        return "bundled" if any(native_image(each) for each in workloads().values()) else "missing"
    return str(store.at_hand(entry) or "missing")


def _version(entry: FirmwareEntry) -> str | None:
    if not entry.family.traits.hosted:
        return entry.version
    try:
        return package_version(entry)
    except ImageUnavailable:
        return None


def _profile(entry: FirmwareEntry, board: BoardDefinition, profile: Profile) -> dict[str, Any]:
    return {
        "name": profile.name,
        "spi_hz": profile.spi_hz,
        "intn": profile.intn,
        "settings": profile.settings,
        "line": profile_line(entry, board, profile),
    }


def workload_inventory(workload: Workload) -> dict[str, Any]:
    """A workload with its settings."""
    schema = workload.settings_type.model_json_schema()
    headline = workload.headline
    return {
        "name": workload.name,
        "title": workload.title,
        "by_default": workload.by_default,
        "readiness": str(workload.readiness),
        "headline": {"name": headline.name, "unit": headline.unit, "better": headline.better},
        "settings": [_setting(name, about) for name, about in schema.get("properties", {}).items()],
    }


def _setting(name: str, about: dict[str, Any]) -> dict[str, Any]:
    keys = {"description": "description", "type": "type", "default": "default", "minimum": "minimum"}
    keys |= {"maximum": "maximum", "enum": "choices"}
    return {"name": name, **{ours: about[theirs] for theirs, ours in keys.items() if theirs in about}}


def _board(board: BoardDefinition) -> dict[str, Any]:
    chip = None if board.network is None else board.network.chip
    return {"id": board.id, "title": board.title, "aliases": list(board.aliases), "mcu": board.mcu, "network": chip}
