"""Public images with a Python in them: each has to start, answer on its console, and be the version that it says."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from portbench.boards import BoardError
from portbench.boards.timing import Deadline
from portbench.errors import PortbenchError
from portbench.runner.checks.check import Finding, Report
from portbench.runner.checks.peers.place import Place
from portbench.runner.checks.peers.suite import Suite, Verdict, judged, refused
from portbench.toml_files import parse_toml, read_text

_LIST: Final = Path(__file__).with_suffix(".toml")
_ASK_S = 120.0


class PublicImages(Suite):
    name = "public_images"
    title = "Public images, to the console's first answer"

    def run(self, place: Place) -> Report:
        listed = parse_toml(read_text(_LIST), _LIST)["image"]
        sources = [f"{each['id']} {each['sha256'][:12]}" for each in listed]
        return self.report([self._one(place, each) for each in listed], sources)

    def _one(self, place: Place, listed: dict[str, str]) -> Finding:
        name = listed["id"]
        try:
            image = place.image(listed["sha256"], name)
        except PortbenchError as error:
            return judged(name, Verdict.MISSING, str(error))
        place.log(name)
        try:
            with place.board(image, listed["board"]) as board:
                answered = board.identify(Deadline(_ASK_S, name))
        except BoardError as error:
            return judged(name, Verdict.REFUSED if refused(str(error)) else Verdict.WRONG, str(error))
        said, wanted = f"{answered.family} {answered.version}", f"{listed['family']} {listed['version']}"
        if said != wanted:
            return judged(name, Verdict.WRONG, f"answers {said}, not {wanted}")
        return judged(name, Verdict.RIGHT)
