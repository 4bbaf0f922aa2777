"""The image for the service of pytest-embedded. tests/testing/test_page.py has the service at work."""

from pathlib import Path

import pytest

from portbench.errors import BoardError

pytest.importorskip("pytest_embedded.dut", reason="pexpect needs pty here")


@pytest.mark.engine
def test_the_image_is_the_only_one_of_the_folder_and_its_build(tmp_path: Path) -> None:
    from portbench.testing.embedded import BoardApp

    with pytest.raises(BoardError, match=r"^--app-path: \S+ has 0 \.uf2 files; name one, or a runtime$"):
        BoardApp(str(tmp_path))
    (tmp_path / "build").mkdir()
    (tmp_path / "build" / "app.uf2").touch()
    assert BoardApp(str(tmp_path), "build").image == str(tmp_path / "build" / "app.uf2")
    assert BoardApp("micropython-1.28.0").image == "micropython-1.28.0"
