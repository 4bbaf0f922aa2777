"""Settings are in pyproject.toml; this file has the compiled module.

A machine without a Rust toolchain installs the package without it, for commands that need no emulated board. On a
machine with a toolchain, a failed compilation fails the installation.
"""

import os
import shutil

from setuptools import setup
from setuptools_rust import Binding, RustExtension

MODULE = RustExtension(
    "portbench_engine._native",
    "binding/Cargo.toml",
    binding=Binding.PyO3,
    debug=False,
    optional=shutil.which(os.environ.get("CARGO", "cargo")) is None,
)

setup(rust_extensions=[MODULE])
