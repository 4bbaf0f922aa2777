"""Settings are in pyproject.toml; this file refuses a checkout that a package cannot be built from."""

import sys
from pathlib import Path

from setuptools import setup

if not Path(__file__).with_name("portbench").joinpath("boards").is_dir():
    sys.exit(
        "portbench: this checkout has no symbolic links, which a package is built from; run it from its folder"
        " (python -m portbench), or clone again: git clone -c core.symlinks=true"
    )
setup()
