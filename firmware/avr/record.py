"""Record the compiler and the hash of an image beside it: record.py COMPILER IMAGE."""

import hashlib
import json
import sys
from pathlib import Path

compiler, image = sys.argv[1], Path(sys.argv[2])
facts = {"compiler": compiler, "sha256": hashlib.sha256(image.read_bytes()).hexdigest()}
image.with_suffix(".json").write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")
