"""The first post: each of its four firmwares is within 3 % of its published figure, at one turnaround."""

from dataclasses import replace
from pathlib import Path

import pytest

from portbench.firmware import catalogue, uf2
from portbench.firmware.images import ImageStore
from portbench.results.silicon import FigureSet, load
from portbench.runner.silicon.check import Silicon
from portbench.runner.silicon.compare import faults
from tests.conftest import Image
from tests.runner.conftest import Invoke

SETS = [each for each in load() if each.relation == "same source"]
TAKEN = b"MicroPython v1.19.1 on 2022-11-11; W5500-EVB-Pico with RP2040"


def test_all_four_are_of_one_board_and_one_pc() -> None:
    assert sorted(each.runtime for each in SETS) == [
        "circuitpython-8.2.6",
        "micropython-1.20.0",
        "wiznet-1.0.5",
        "wiznet-2.0.0",
    ]
    assert {(each.board, each.source, each.settings[0]) for each in SETS} == {
        ("W5500_EVB_PICO", SETS[0].source, "turnaround_us=420")
    }


@pytest.mark.engine
@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("publication", SETS, ids=lambda each: each.runtime)
def test_each_firmware_meets_its_published_figure(publication: FigureSet, image: Image) -> None:
    image(publication.runtime)
    report = Silicon(lambda _: None).measure(publication)
    if "is not at hand" in report.skipped or "could not download" in report.skipped:
        pytest.skip(report.skipped)  # the published client, or its libraries
    assert report.skipped == "" and faults([report]) == [] and "an image with sha256 " in report.notes[-1]


def test_the_report_says_which_build_it_is_of(tmp_path: Path) -> None:
    built = tmp_path / "firmware.uf2"
    built.write_bytes(uf2.build(TAKEN.ljust(512)))
    entry = catalogue.load().get("wiznet-2.0.0")
    publication = next(each for each in SETS if each.runtime == entry.id)
    store = ImageStore(folder=tmp_path, cache=tmp_path, state=tmp_path)
    check = Silicon(lambda _: None, store=store, image=built)
    sha256 = store.obtain(replace(entry, path=built)).sha256
    assert check._build(publication) == (f"an image with sha256 {sha256}; that of the published one is not known",)
    for known, note in (
        (sha256, f"the published image, sha256 {sha256}"),
        ("0" * 64, f"an image with sha256 {sha256}"),
    ):
        check._known = catalogue.Catalogue((), (replace(entry, sha256=known),))
        assert check._build(publication)[0].startswith(note)
    assert check._build(load()[0]) == ()


@pytest.mark.parametrize("words", [(), ("--part=first-post",), ("--part=circuitpython-9.1.4",)])
def test_a_build_is_for_one_part_of_the_same_source(words: tuple[str, ...], invoke: Invoke) -> None:
    done = invoke("check", "silicon", *words, "--runtime=firmware.uf2")
    assert done.exit_code == 2
    assert "--runtime: an image is for one part; add --part with one of first-post-wiznet-2.0.0, " in done.stderr


@pytest.mark.engine
def test_a_build_that_is_not_there_is_one_line(invoke: Invoke, tmp_path: Path) -> None:
    done = invoke("check", "silicon", "--part=first-post-wiznet-1.0.5", f"--runtime={tmp_path / 'none.uf2'}")
    assert done.exit_code == 1 and "skipped: " in done.stdout and "none.uf2" in done.stdout
    assert done.stderr.splitlines()[-1] == "1 of 1 parts could not be measured: first-post-wiznet-1.0.5"
