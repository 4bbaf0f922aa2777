"""portbench: which Python firmware should I flash on this board, and why is it slow?

The subpackages are the folders at the top of the repository, under one name: `portbench.boards` is `boards/`.
"""

from pathlib import Path

_CHECKOUT = Path(__file__).resolve().parents[1]
if (_CHECKOUT / "engine" / "Cargo.toml").is_file():
    # In a checkout modules are loaded from the folders themselves, so that tracebacks and debuggers name the path that
    # git knows. The links beside this file serve tools that read no code: mypy, editors, setuptools.
    __path__.insert(0, str(_CHECKOUT))
