"""The committed certificates are those that the script makes of the committed keys."""

from __future__ import annotations

import pytest

from portbench.certificates import FOLDER, KEY_KINDS, KeyKind, blocks


@pytest.mark.parametrize("kind", KEY_KINDS)
def test_the_script_makes_the_same_again(kind: KeyKind) -> None:
    pytest.importorskip("cryptography", reason="needs cryptography: pip install cryptography")
    from portbench.certificates.make import made

    assert made(kind, blocks(kind)) == (FOLDER / f"{kind}.pem").read_text(encoding="ascii")
