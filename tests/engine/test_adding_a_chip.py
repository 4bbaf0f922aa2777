"""docs/adding-a-chip.md, followed to the letter in a separate folder."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]
PAGE = (PROJECT / "docs" / "adding-a-chip.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_page_leads_to_a_chip_of_ones_own(tmp_path: Path) -> None:
    if shutil.which("cargo") is None:
        pytest.skip("cargo is not installed; install it with rustup")
    for name, language in (("chip/Cargo.toml", "toml"), ("chip/src/lib.rs", "rust")):
        assert f"`{name}`" in PAGE
        (block,) = re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(block.replace("ENGINE", str(PROJECT / "engine")), encoding="utf-8")
    (command,) = re.findall(r"^    (cargo .*)$", PAGE, re.MULTILINE)
    done = subprocess.run(
        [*command.split(), "--offline"],
        cwd=tmp_path,
        env=os.environ | {"CARGO_TARGET_DIR": str(PROJECT / "engine" / "target" / "pages")},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "1 passed; 0 failed" in done.stdout
