"""Published figures of a workload: the figure that ranks its rows, or another that both have."""

from collections.abc import Iterable

from pydantic import ValidationError

from portbench.errors import PortbenchError, first_complaint
from portbench.results.model import Published, Row
from portbench.workloads import PublishedFirmware, PublishedSource, Workload


def published_of(workload: Workload, runtime: str, profile: str) -> Published | None:
    """Published figures of exactly this firmware with this profile. Raises PortbenchError."""
    for source, firmware in _all(workload):
        if (firmware.runtime, firmware.profile) == (runtime, profile):
            return as_headline(workload, source, firmware)
    return None


def nearest(workload: Workload, row: Row) -> tuple[PublishedFirmware, Published] | None:
    """The newest published firmware of the row's family with its profile. Raises PortbenchError."""
    found = [
        (source, firmware)
        for source, firmware in _all(workload)
        if (firmware.family, firmware.profile, source.board) == (row.family, row.profile or firmware.profile, row.board)
    ]
    if not found:
        return None
    source, firmware = max(found, key=lambda each: each[1].release)
    return firmware, as_headline(workload, source, firmware)


def as_headline(workload: Workload, source: PublishedSource, firmware: PublishedFirmware) -> Published:
    """The headline figure if it follows from the published ones, else the next comparable one. Raises
    PortbenchError."""
    try:
        settings = workload.settings_type.model_validate(source.settings)
        runs = [
            workload.derive(dict(zip(firmware.figures, run, strict=True)), settings)
            for run in zip(*firmware.figures.values(), strict=True)
        ]
        name = next(
            (name for name in (workload.headline.name, *workload.comparable) if all(name in run for run in runs)),
            workload.headline.name,
        )
        return Published(
            figure=None if name == workload.headline.name else name,
            values=[run[name] for run in runs],
            stated=firmware.stated.get(name),
            source=source.who,
            url=source.url,
        )
    except ValidationError as error:
        reason = first_complaint(error)
    except KeyError as error:
        reason = f"{error} is not among the figures"
    except ValueError:
        reason = "the figures have different numbers of runs"
    raise PortbenchError(f"published for {workload.name} by {source.who}: {firmware.runtime}: {reason}")


def _all(workload: Workload) -> Iterable[tuple[PublishedSource, PublishedFirmware]]:
    return ((source, firmware) for source in workload.published for firmware in source.firmware)
