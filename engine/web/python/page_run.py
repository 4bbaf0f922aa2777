"""The page's requests, each with JSON or text as its answer; `../page/bench.ts` makes them."""

import hashlib
import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import absent  # noqa: F401  # before portbench
import page_worker  # type: ignore[import-not-found]
import vl_convert
from pydantic_core import _pydantic_core

from portbench.boards.registry import KEPT_FLASH_VARIABLE
from portbench.firmware import FOLDER_VARIABLE, catalogue
from portbench.results.environment import describe_machine
from portbench.results.model import RunFile
from portbench.results.publish import html as page_of
from portbench.results.storage import to_json
from portbench.runner.jobs.measure import measure as measured
from portbench.runner.jobs.run import planned
from portbench.runner.program import image_store
from portbench.runner.servers import Servers

_IMAGES = Path("/images")
_LOGS = Path("/tmp/portbench-page")
_last: RunFile | None = None

Path(_pydantic_core.__file__).unlink()  # it is loaded, and its file would stay in memory


def measure(images: Any, asked: str) -> str:
    """`images`: names and contents. Answers the run file, and the drawings that its page needs."""
    global _last
    os.environ |= {FOLDER_VARIABLE: str(_IMAGES), KEPT_FLASH_VARIABLE: ""}
    runtimes = [_kept(name, bytes(content)) for name, content in images.to_py()]
    rows, options = planned({"where": "emulated", **json.loads(asked), "runtime": runtimes, "parallel": 1})
    began = datetime.now(UTC)
    store = image_store([row.entry for row in rows])
    coming = measured(
        rows, options, store, _LOGS, Servers(options.how), lambda row, stage: page_worker.doing(row.label, stage)
    )
    found = [row.model_copy(update={"log": None}) for _, row in coming]
    _last = RunFile(
        started_utc=began,
        name=options.output.name,
        machine=describe_machine(),
        rows=found,
        finished_utc=datetime.now(UTC),
    )
    vl_convert.wanted.clear()
    page_of(_last)
    return json.dumps({"run": to_json(_last), "wanted": list(vl_convert.wanted)})


def _kept(name: str, content: bytes) -> str:
    """Keep the image where portbench finds it; its name in the catalogue, or its path."""
    _IMAGES.mkdir(exist_ok=True)
    sha256 = hashlib.sha256(content).hexdigest()
    known = next((entry for entry in catalogue.load() if entry.sha256 == sha256), None)
    path = _IMAGES / Path(name if known is None else known.file or f"{known.id}.uf2").name
    path.write_bytes(content)
    return str(path) if known is None else known.id


def html(drawn: str) -> str:
    """The page of the last run; `drawn`: an SVG for each of its drawings."""
    vl_convert.drawn.update(json.loads(drawn))
    assert _last is not None
    return page_of(_last)
