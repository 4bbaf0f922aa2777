"""Which file of a workload's folder is the body for a language."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.workloads.own import Alone


class InFolder(Alone):
    """Has the files that a test gives it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def folder(self) -> Path:
        return self._folder


@pytest.mark.parametrize(
    ("files", "bodies"),
    [
        ([], {}),
        (["python.py"], {"micropython": "python.py", "circuitpython": "python.py"}),
        (["micropython.py"], {"micropython": "micropython.py"}),
        (["python.py", "circuitpython.py"], {"micropython": "python.py", "circuitpython": "circuitpython.py"}),
    ],
)
def test_a_languages_own_body_comes_before_the_one_for_all(
    files: list[str], bodies: dict[str, str], tmp_path: Path
) -> None:
    for name in files:
        (tmp_path / name).touch()
    workload = InFolder(tmp_path)
    found = {language: workload.body(language) for language in ("micropython", "circuitpython", "lua")}
    assert {language: path.name for language, path in found.items() if path} == bodies


def test_each_chip_has_a_native_body_of_its_own(tmp_path: Path) -> None:
    (tmp_path / "native.uf2").touch()
    workload = InFolder(tmp_path)
    assert workload.native() == tmp_path / "native.uf2"
    assert workload.native("RP2350") is None
    (tmp_path / "native_rp2350.uf2").touch()
    assert workload.native("RP2350") == tmp_path / "native_rp2350.uf2"
