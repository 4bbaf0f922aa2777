"""What others published of a workload, as the figure that ranks its rows."""

from __future__ import annotations

from pydantic import ValidationError

from portbench.complaint import first_complaint
from portbench.firmware import catalogue
from portbench.firmware.catalogue import Profile
from portbench.results.model import Published
from portbench.runner.options import OptionError
from portbench.workloads import Workload


def published(profile: Profile, workload: Workload) -> Published | None:
    """None where the catalogue has nothing. Raises OptionError for figures that the headline does not follow from."""
    found = next((each for each in profile.published if each.workload == workload.name), None)
    if found is None:
        return None
    try:
        return Published(values=_values(found, workload), source=found.source)
    except ValidationError as error:
        reason = first_complaint(error)
    except KeyError as error:
        reason = f"{error} is not among the figures"
    except ValueError:
        reason = "the figures have different numbers of runs"
    raise OptionError(f"profile {profile.name!r}: published for {workload.name} by {found.source}: {reason}") from None


def _values(found: catalogue.Published, workload: Workload) -> list[float]:
    """The headline figure of each run."""
    settings = workload.settings_type.model_validate(found.settings)
    runs = zip(*found.figures.values(), strict=True)
    derived = [workload.derive(dict(zip(found.figures, run, strict=True)), settings) for run in runs]
    return [figures[workload.headline.name] for figures in derived]
