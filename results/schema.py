"""The run file's form as JSON Schema, made from the model: docs/run-file.schema.json."""

from __future__ import annotations

import json

from portbench.results.model import RunFile


def json_schema() -> str:
    """The schema of what `portbench run` writes, as the file holds it."""
    schema = RunFile.model_json_schema(mode="validation")
    return json.dumps({"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}, indent=1) + "\n"
