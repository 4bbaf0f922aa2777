"""Public images with a Python in them: each is to start, to answer on its console and to be what it says."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from portbench.boards import BoardError
from portbench.boards.timing import Deadline
from portbench.errors import PortbenchError
from portbench.runner.checks.peers.outcome import Outcome, SuiteResult, Verdict
from portbench.runner.checks.peers.place import Place
from portbench.runner.checks.peers.suite import Suite
from portbench.toml_files import parse_toml, read_text

_LIST: Final = Path(__file__).parents[1] / "images.toml"
_ASK_S = 120.0
_REFUSED: Final = ("not modelled", "not emulated")


class PublicImages(Suite):
    name = "public_images"
    title = "Public images, to the console's first answer"

    def run(self, place: Place) -> SuiteResult:
        listed = parse_toml(read_text(_LIST), _LIST)["image"]
        outcomes = tuple(self._one(place, each) for each in listed)
        pinned = tuple(f"{each['id']} {each['sha256'][:12]}" for each in listed)
        return SuiteResult(suite=self.name, title=self.title, sources=pinned, outcomes=outcomes)

    def _one(self, place: Place, listed: dict[str, str]) -> Outcome:
        name = listed["id"]
        try:
            image = place.image(listed["sha256"], name)
        except PortbenchError as error:
            return Outcome(program=name, verdict=Verdict.MISSING, said=str(error))
        place.log(name)
        try:
            with place.board(image, listed["board"]) as board:
                answered = board.identify(Deadline(_ASK_S, name))
        except BoardError as error:
            refused = any(words in str(error) for words in _REFUSED)
            verdict = Verdict.REFUSED if refused else Verdict.WRONG
            return Outcome(program=name, verdict=verdict, said=str(error))
        said, wanted = f"{answered.family} {answered.version}", f"{listed['family']} {listed['version']}"
        if said != wanted:
            return Outcome(program=name, verdict=Verdict.WRONG, said=f"answers {said}, not {wanted}")
        return Outcome(program=name, verdict=Verdict.RIGHT)


SUITE = PublicImages()
