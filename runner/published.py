"""What others published of a workload, as the figure that ranks its rows, or another that both have."""

from __future__ import annotations

from pydantic import ValidationError

from portbench.complaint import first_complaint
from portbench.firmware import catalogue
from portbench.firmware.catalogue import Profile
from portbench.results.model import Published
from portbench.runner.options import OptionError
from portbench.workloads import Workload


def published(profile: Profile, workload: Workload) -> Published | None:
    """None where the catalogue has nothing. Raises OptionError for figures that cannot be compared."""
    found = next((each for each in profile.published if each.workload == workload.name), None)
    if found is None:
        return None
    try:
        runs = _runs(found, workload)
        name = next(
            (name for name in (workload.headline.name, *workload.comparable) if all(name in run for run in runs)),
            workload.headline.name,
        )
        figure = None if name == workload.headline.name else name
        return Published(figure=figure, values=[run[name] for run in runs], source=found.source)
    except ValidationError as error:
        reason = first_complaint(error)
    except KeyError as error:
        reason = f"{error} is not among the figures"
    except ValueError:
        reason = "the figures have different numbers of runs"
    raise OptionError(f"profile {profile.name!r}: published for {workload.name} by {found.source}: {reason}") from None


def _runs(found: catalogue.Published, workload: Workload) -> list[dict[str, float]]:
    """The figures of each run, with those that follow from them."""
    settings = workload.settings_type.model_validate(found.settings)
    runs = zip(*found.figures.values(), strict=True)
    return [workload.derive(dict(zip(found.figures, run, strict=True)), settings) for run in runs]
