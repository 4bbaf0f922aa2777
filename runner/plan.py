"""The rows of a bench: board x runtime x workload x profile x run, in the catalogue's order."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from importlib.metadata import distributions
from itertools import islice
from pathlib import Path
from typing import Final

from portbench.boards import (
    BoardDefinition,
    Ethernet,
    Wifi,
    board_definition,
    board_of_machine,
    boards_taking,
    known_boards,
)
from portbench.boards.releases import named
from portbench.clients import FAMILIES
from portbench.errors import OptionError, PortbenchError, UnknownName, unknown
from portbench.firmware import catalogue
from portbench.firmware.catalogue import Catalogue, Family, FirmwareEntry, Profile
from portbench.firmware.identify import AVR_SUFFIXES, IMAGE_FAMILIES, Uf2File, entry_for_file, release
from portbench.firmware.releases import usual_index
from portbench.install import with_extra
from portbench.results.published import published_of
from portbench.runner.options import DEFAULT_BOARD, BenchOptions, How, Place, What
from portbench.workloads import Foreign, ForeignServer, Paired, Readiness, Workload, WorkloadSettings, workloads
from portbench.workloads.native import native_image

ALL = "all"
"""A value of `--require`: all runtimes."""
_BLINKA_PACKAGE = "adafruit-circuitpython-wiznet5k"


SAME: Final = "same"
EACH: Final = "each"
"""The values of the setting `partner` beside the name of a runtime."""


@dataclass(frozen=True)
class PlannedRow:
    """One row to come: `number` counts the runs of a runtime, profile and workload from 1 to `of`.

    `device`: the board, as `--device` names it. `is_one_of_several`: others measure the same rows. `place`, `how`: as
    the user asked. `partner`: the row of a second board at the same time, if there is one. `lacks`: why the runtime
    cannot run it; the row ends as unsupported.
    """

    entry: FirmwareEntry
    profile: Profile
    workload: Workload
    settings: WorkloadSettings
    board: BoardDefinition
    number: int = 1
    of: int = 1
    device: str = "auto"
    is_one_of_several: bool = False
    place: Place = field(default_factory=Place)
    how: How = field(default_factory=How)
    partner: PlannedRow | None = None
    lacks: str | None = None

    @property
    def id(self) -> str:
        """Name in pytest's test ids: `micropython-1.26.0-tuned-ping_pong`, with `-2` for the second of several runs."""
        name = f"{self._runtime('-')}-{self.workload.name}"
        if self.partner is not None:
            name += f"-with-{self.partner.entry.id}"
        if self.is_one_of_several:
            name += f"-on-{self.device}"
        return name if self.of == 1 else f"{name}-{self.number}"

    @property
    def label(self) -> str:
        """For people: runtime, profile, workload, and which run of how many."""
        of = f" {self.number}/{self.of}" if self.of > 1 else ""
        on = f" on {self.device}" if self.is_one_of_several else ""
        partner = "" if self.partner is None else f" with {self.partner.entry.id}"
        return f"{self._runtime(' ')} {self.workload.name}{partner}{of}{on}"

    @property
    def is_networked(self) -> bool:
        """True if the workload needs a network."""
        return self.workload.readiness is not Readiness.BOOTED

    @property
    def client_family(self) -> str:
        """The family of the client: hosted ports differ in theirs."""
        return client_family(self.entry)

    @property
    def profile_name(self) -> str | None:
        """None where the profile makes no difference to the workload: its SPI clock and INTn are the network's."""
        return self.profile.name if self.is_networked or self.workload.name in self.profile.settings else None

    def _runtime(self, between: str) -> str:
        named = self.profile_name not in (None, "hosted")
        return f"{self.entry.id}{between}{self.profile_name}" if named else self.entry.id


def client_family(entry: FirmwareEntry) -> str:
    """Return a key of `clients.FAMILIES`, or `native` or `foreign`."""
    if entry.package == _BLINKA_PACKAGE:
        return "blinka"
    return str(entry.family)


def chosen_entries(options: BenchOptions, known: Catalogue) -> list[FirmwareEntry]:
    """The entries that `--runtime`, `--board` and `--where` leave. Raises OptionError."""
    for entry in known:
        if not entry.family.traits.hosted and _board_of(entry) is None:
            boards = ", ".join(known_boards())
            raise OptionError(f"catalogue: image {entry.id!r}: board is {entry.board!r}; use one of: {boards}")
    if options.what.family is not None and not any(map(is_file, options.what.runtimes)):
        raise OptionError(f"--family {options.what.family}: is for image files; name one: --runtime FILE.uf2")
    if options.what.runtimes:
        entries = _named_apart([_entry(runtime, options.what, known) for runtime in options.what.runtimes])
    else:
        wanted = options.what.board or board_definition(DEFAULT_BOARD)
        entries = [entry for entry in known if entry.family.traits.hosted or _board_of(entry) == wanted]
    if options.place.where == "hosted":
        entries = [entry for entry in entries if entry.family.traits.hosted]
    elif options.place.where != "auto":
        entries = [entry for entry in entries if not entry.family.traits.hosted]
    return newest_of_each(entries) if options.what.newest else entries


def newest_of_each(entries: Sequence[FirmwareEntry]) -> list[FirmwareEntry]:
    """The newest entry of each family that has a client; every foreign one, since these have nothing in common."""
    newest: dict[str, FirmwareEntry] = {}
    for entry in entries:
        key = entry.id if entry.family.traits.timed_by_pc else client_family(entry)
        newest[key] = max(newest.get(key, entry), entry, key=_age)
    return list(newest.values())


def _age(entry: FirmwareEntry) -> tuple[int, ...]:
    """By version; by date where the numbers of the family's releases do not give an order."""
    if entry.family.traits.own_release_numbers:
        return (entry.offers.released.toordinal() if entry.offers else 0,)
    return release(entry.version or "")


def plan(options: BenchOptions, known: Catalogue | None = None) -> list[PlannedRow]:
    """All rows to measure. Raises OptionError where nothing is left to measure."""
    try:
        known = catalogue.load() if known is None else known
        entries = chosen_entries(options, known)
    except PortbenchError as error:
        raise OptionError(str(error)) from None
    profiles = sorted({profile.name for entry in entries for profile in entry.profiles})
    for wanted in options.what.profiles:
        if wanted not in profiles:
            raise OptionError(f"--profile: {unknown('profile', wanted, profiles)}")
    rows = list(_rows(entries, options, known))
    planned = {row.entry.id for row in rows}
    if lacking := next((each for each in options.output.required if each not in (ALL, *planned)), None):
        raise OptionError(
            f"--require: {lacking!r} is measured by no row; choose all or of {', '.join(sorted(planned))}"
        )
    if not rows:
        raise OptionError(_nothing_left(entries, options))
    if all(row.lacks for row in rows):
        raise OptionError(f"{rows[0].entry.id}: {rows[0].lacks}")
    return rows


def _nothing_left(entries: Sequence[FirmwareEntry], options: BenchOptions) -> str:
    names = ", ".join(workload.name for workload in options.what.chosen_workloads)
    on = [(entry, board) for entry in entries if (board := _board_of(entry)) is not None]
    offline = [each for each in workloads().values() if each.readiness is Readiness.BOOTED]
    runs = [each.name for each in offline if any(why_not(entry, board, each) is None for entry, board in on)]
    if runs and all(board.network is None for _, board in on):
        ids = ", ".join(sorted({board.id for _, board in on}))
        return f"{ids}: has no network, which {names} needs; choose --workload {runs[0]}"
    where = options.what.board.id if options.what.board else "any board"
    return f"no runtime is left to measure {names} with --where {options.place.where} on {where}; see: portbench list"


def remarks(rows: Sequence[PlannedRow], what: What) -> list[str]:
    """A line for each choice of a release, for hosted ports that are not installed, and for each image file whose
    family portbench did not find."""
    images = {row.entry.path: row.entry for row in rows if row.entry.path and row.entry.family.traits.timed_by_pc}
    chosen = usual_index().remarks
    packages = {row.entry.id: row.entry.package or "" for row in rows if row.entry.family.traits.hosted}
    if missing := ", ".join(name for name, package in packages.items() if not any(distributions(name=package))):
        chosen.append(f"{missing}: not installed, and will be skipped; install the extra: {with_extra('hosted')}")
    if what.family is not None:
        return chosen
    others = ", ".join(str(each) for each in IMAGE_FAMILIES if not each.traits.timed_by_pc)
    return chosen + [
        f"{entry.file}: names no family, and is taken as foreign: nothing is deployed and the PC times it;"
        f" --family NAME would treat it as one of {others}"
        for entry in images.values()
    ]


def left_out(rows: Sequence[PlannedRow], options: BenchOptions) -> str | None:
    """The runtimes and profiles that `newest` left out, as a sentence; None if there are none."""
    everything = plan(options.but(newest=False))
    measured = {row.entry.id for row in rows}
    runtimes = dict.fromkeys(row.entry.id for row in everything if row.entry.id not in measured)
    others = {(row.entry.id, row.profile.name) for row in everything if row.entry.id in measured}
    profiles = len(others - {(row.entry.id, row.profile.name) for row in rows})
    if not (runtimes or profiles):
        return None
    also = [f"{len(runtimes)} older runtimes ({', '.join(runtimes)})"] if runtimes else []
    also += [f"{profiles} other profiles of these"] if profiles else []
    return f"Measured: the newest of each family. There are also {' and '.join(also)}: portbench run --all"


def why_not(entry: FirmwareEntry, board: BoardDefinition, workload: Workload) -> str | None:
    """Return the clause that says why `entry` cannot run `workload` on `board`; None where it can."""
    family = client_family(entry)
    traits = entry.family.traits
    if traits.client_in_image:
        if native_image(workload, board.mcu) is None:
            return f"{workload.name} has no native client" + (f" for an {board.mcu}" if native_image(workload) else "")
    elif traits.timed_by_pc:
        if not isinstance(workload, Foreign):
            return f"{workload.name} cannot be timed by the PC, and a foreign image reports nothing"
    elif not FAMILIES[family].runs(workload):
        return f"{workload.name} has nothing for {family} to run"
    if workload.boards_only and entry.family.traits.hosted:
        return f"{workload.name} is a question to boards, not to a port on a PC"
    if workload.readiness is not Readiness.BOOTED and not entry.family.traits.hosted and board.network is None:
        return f"{workload.name} needs a network, and {board.id} has none"
    return None


def _why_not_foreign(entry: FirmwareEntry, workload: Workload, what: What) -> str | None:
    """Return why a foreign image's content cannot run `workload`; None where it can."""
    if not (isinstance(workload, Foreign) and entry.family.traits.timed_by_pc) or entry.path is None:
        return None
    content = Uf2File.read(entry.path).content
    if content is None:  # an ATmega's
        return None
    settings = what.settings_for(workload, entry.profiles[0])
    return workload.foreign_lacks(b"\0".join(content.ranges().values()), settings)


def _check_chip(entry: FirmwareEntry, board: BoardDefinition) -> None:
    """Raises OptionError for a MicroPython file that is built for another Ethernet chip: it would wait for its own."""
    if entry.family not in (Family.MICROPYTHON, Family.WIZNET) or entry.path is None:
        return
    content = Uf2File.read(entry.path).content
    if content is None or not isinstance(board.network, Ethernet):
        return
    image = b"\0".join(content.ranges().values())
    boards = [each for each in known_boards().values() if each.mcu == board.mcu]
    chips = {each.network.chip: each.id for each in boards if isinstance(each.network, Ethernet)}
    built_for = [chip for chip in chips if f"{chip}\0".encode() in image]
    if built_for and board.network.chip not in built_for:
        raise OptionError(
            f"{entry.id}: is built for the {built_for[0]}, and {board.id} has a {board.network.chip};"
            f" add --board {chips[built_for[0]]}"
        )


def _rows(entries: Iterable[FirmwareEntry], options: BenchOptions, known: Catalogue) -> Iterator[PlannedRow]:
    """Board by board, as changing boards costs a flash; hosted ports have this PC only."""
    several = len(options.place.devices) > 1
    entries = list(entries)
    for device in options.place.devices:
        for entry in entries:
            if not entry.family.traits.hosted:
                for row in _rows_of(entry, options, device, several):
                    yield from _with_partners(row, options.what, entries, known)
    for entry in entries:
        if entry.family.traits.hosted:
            yield from _rows_of(entry, options, "auto", False)


def _rows_of(entry: FirmwareEntry, options: BenchOptions, device: str, is_one_of_several: bool) -> Iterator[PlannedRow]:
    what = options.what
    board = _board_of(entry) or what.board or board_definition(DEFAULT_BOARD)
    row = partial(
        PlannedRow,
        board=board,
        device=device,
        is_one_of_several=is_one_of_several,
        place=options.place,
        how=options.how,
    )
    for workload in what.chosen_workloads:
        if reason := why_not(entry, board, workload) or _why_not_foreign(entry, workload, what):
            if what.runtimes and what.workloads and what.workloads_by_name:  # asked for by name, both of them
                for profile, settings in islice(_profiles(entry, workload, what), 1):
                    yield row(entry, profile, workload, settings, lacks=reason)
            continue
        if workload.readiness is not Readiness.BOOTED:
            _check_chip(entry, board)
        serves = entry.family.traits.timed_by_pc and isinstance(workload, ForeignServer)
        if serves and not what.workloads_by_name:
            continue  # which images serve, and what, only their makers know
        image = entry
        if entry.family.traits.client_in_image and entry.path is None:
            image = replace(entry, path=native_image(workload, board.mcu))
        for profile, settings in _profiles(entry, workload, what):
            _check_room(entry, workload, settings)
            _check_published(entry, profile, workload)
            for number in range(1, what.runs + 1):
                yield row(image, profile, workload, settings, number=number, of=what.runs)


def _with_partners(row: PlannedRow, what: What, entries: list[FirmwareEntry], known: Catalogue) -> Iterator[PlannedRow]:
    """A row of two boards once with each partner; any other as it is. Raises OptionError."""
    if row.lacks or not isinstance(row.workload, Paired):
        yield row
        return
    serving = row.workload.serving(row.settings, row.client_family)
    asked = str(row.settings.model_dump().get("partner", SAME))
    for entry in _partner_entries(asked, row.entry, entries, known):
        board = _board_of(entry)
        reason = f"board is {entry.board!r}" if board is None else why_not(entry, board, serving[0])
        if reason is None:
            yield _with_partner(row, entry, serving)
        elif what.workloads_by_name and asked != EACH and what.runtimes:
            raise OptionError(f"partner={entry.id}: cannot serve: {reason}; choose another partner")


def _partner_entries(
    partner: str, client: FirmwareEntry, chosen: Sequence[FirmwareEntry], known: Catalogue
) -> list[FirmwareEntry]:
    """The runtimes that the setting `partner` names, for `client`; `chosen` are the clients. Raises OptionError."""
    if partner == SAME:
        return [client]
    if partner == EACH:
        return [entry for entry in chosen if not entry.family.traits.hosted]
    if (entry := next((each for each in chosen if each.id == partner), None)) is not None:
        return [entry]
    try:
        return [named(partner, known)]
    except PortbenchError:
        ids = ", ".join(entry.id for entry in known if not entry.family.traits.hosted)
        raise OptionError(f"--partner: {partner!r} is not one of {SAME}, {EACH}, {ids}") from None


def _with_partner(row: PlannedRow, entry: FirmwareEntry, serving: tuple[Workload, WorkloadSettings]) -> PlannedRow:
    """`row` with `entry` on its partner."""
    workload, settings = serving
    # A bundled image holds one workload: the partner needs a different image than the client.
    board = row.board if entry.board == row.entry.board else board_definition(entry.board)
    bundled = entry.family.traits.client_in_image and entry.path in (None, native_image(row.workload, row.board.mcu))
    partner = replace(
        row,
        entry=replace(entry, path=native_image(workload, board.mcu)) if bundled else entry,
        profile=next((each for each in entry.profiles if each.name == row.profile.name), entry.profiles[0]),
        workload=workload,
        settings=settings,
        board=board,
    )
    return replace(row, settings=row.settings.model_copy(update={"partner": entry.id}), partner=partner)


def _profiles(entry: FirmwareEntry, workload: Workload, what: What) -> Iterator[tuple[Profile, WorkloadSettings]]:
    """The chosen profiles, with the workload's settings. Raises OptionError.

    Without a network, profiles with equal settings measure the same, so only the first of them is used.
    """
    seen: list[WorkloadSettings] = []
    for profile in entry.profiles[-1:] if what.newest else entry.profiles:
        if what.profiles and profile.name not in what.profiles:
            continue
        settings = what.settings_for(workload, profile)
        heeded = entry.family.traits.profile_keys if workload.readiness is not Readiness.BOOTED else frozenset()
        sets = {name: value for name, value in what.profile_sets.items() if name in heeded}
        profile = replace(profile, **sets)
        if workload.readiness is Readiness.BOOTED and settings in seen:
            continue
        seen.append(settings)
        yield profile, settings


def _check_room(entry: FirmwareEntry, workload: Workload, settings: WorkloadSettings) -> None:
    try:
        workload.check_room(client_family(entry), settings)
    except ValueError as error:
        raise OptionError(f"{entry.id}: {error}") from None


def _check_published(entry: FirmwareEntry, profile: Profile, workload: Workload) -> None:
    """Raise OptionError for unusable published figures, before any row starts."""
    try:
        published_of(workload, entry.id, profile.name)
    except PortbenchError as error:
        raise OptionError(str(error)) from None


def _entry(runtime: str, what: What, known: Catalogue) -> FirmwareEntry:
    if is_file(runtime):
        return _entry_of_file(Path(runtime), what)
    try:
        entry = named(runtime, known)
    except PortbenchError:
        if Path(runtime).exists():
            kinds = ", ".join((".uf2", *AVR_SUFFIXES))
            raise OptionError(f"{runtime}: is not an image; choose a {kinds} file") from None
        ids = (entry.id for entry in known)
        raise OptionError(f"{unknown('runtime or .uf2 file', runtime, ids)}") from None
    if what.board is not None and not entry.family.traits.hosted and _board_of(entry) != what.board:
        raise OptionError(f"{entry.id}: is for {entry.board}, not {what.board.id}; choose {entry.board}")
    return entry


def is_file(runtime: str) -> bool:
    """True if `--runtime` names an image file."""
    return runtime.lower().endswith((".uf2", *AVR_SUFFIXES))


def _entry_of_file(path: Path, what: What) -> FirmwareEntry:
    """The entry of an image, for the board named in the image, if any. Raises OptionError."""
    try:
        image = Uf2File.read(path)
        machine = image.identity.machine
        says = board_of_machine(machine, what.board) if machine else None
        board = says or what.board or _usual_board(image)
        if (image.content is None) != (board.avr is not None):
            like = next(each for each in known_boards().values() if (each.avr is None) != (image.content is None))
            raise PortbenchError(f"{path}: is not an image for {board.id}; name another board: --board {like.id}")
        radio = isinstance(board.network, Wifi)
        entry = entry_for_file(image, family=what.family, board=board.id, has_radio=radio)
    except PortbenchError as error:
        raise OptionError(str(error)) from None
    if says is not None and what.board not in (None, says):
        raise OptionError(f"{path}: says {says.id}, not {what.board.id}; choose {says.id}")
    return entry


def _usual_board(image: Uf2File) -> BoardDefinition:
    """The default board; for an image of another chip, or with the firmware of a radio, a board that has these."""
    usual = board_definition(DEFAULT_BOARD)
    if image.content is None:
        return usual

    def chip(board: BoardDefinition) -> str | None:
        return None if board.network is None else board.network.chip

    wanted = image.identity.radio or chip(usual)
    takers = boards_taking([image.content.family_id])
    return min(takers, key=lambda board: (chip(board) != wanted, board != usual), default=usual)


def _named_apart(entries: list[FirmwareEntry]) -> list[FirmwareEntry]:
    """Add the folder's name to files of equal names. Raises OptionError for a file given twice."""
    counts = Counter(entry.id for entry in entries)
    apart = [
        replace(entry, id=f"{_id_of(_own_folder(entry.path, entries))}-{entry.id}")
        if counts[entry.id] > 1 and entry.path is not None
        else entry
        for entry in entries
    ]
    again = Counter(entry.id for entry in apart)
    if twice := next((entry for entry in apart if again[entry.id] > 1), None):
        name = twice.path or twice.id
        raise OptionError(f"{name} is given twice, or another file has its name; rename one")
    return apart


def _own_folder(path: Path, entries: Sequence[FirmwareEntry]) -> str:
    """The nearest folder of a file that no other of its name has in that place: `pr` of `pr/build/firmware.uf2`."""
    own = path.absolute().parts[-2::-1]
    others = [each.path.absolute().parts[-2::-1] for each in entries if each.path and each.path.name == path.name]
    for depth, folder in enumerate(own):
        if sum(other[depth : depth + 1] == (folder,) for other in others) == 1:
            return folder
    return own[0]


def _id_of(name: str) -> str:
    return re.sub(r"[^a-z0-9.]+", "-", name.lower()).strip("-.") or "folder"


def _board_of(entry: FirmwareEntry) -> BoardDefinition | None:
    try:
        return board_definition(entry.board)
    except UnknownName:
        return None
