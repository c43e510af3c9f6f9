"""Answers held against an OpenAPI description."""

from __future__ import annotations

import os
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.acceptance.served import ROOT

FACTS = Path(os.environ.get("RELAY_FACTS", ROOT.parent / "shared" / "facts"))


@cache
def openai_description() -> Path:
    """OpenAI's own, which is no part of the project; skips where it is not at hand."""
    path = FACTS / "openai-openapi.json"
    if not path.is_file():
        pytest.skip(f"left out: OpenAI's API description is not here (RELAY_FACTS names its folder): {path.name}")
    return path


def validator(document: dict[str, Any], component: str) -> jsonschema.protocols.Validator:
    """Of a component of an OpenAPI document (3.0 or 3.1)."""
    schemas = {name: _with_null(schema) for name, schema in document["components"]["schemas"].items()}
    root = {"$ref": f"#/components/schemas/{component}", "components": {"schemas": schemas}}
    return jsonschema.Draft202012Validator(root)


def complaints(validator: jsonschema.protocols.Validator, value: Any) -> list[str]:
    return [f"{error.json_path}: {error.message[:300]}" for error in validator.iter_errors(value)]


def _with_null(schema: Any) -> Any:
    """`nullable: true` in JSON Schema's words."""
    if isinstance(schema, list):
        return [_with_null(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    said = {name: _with_null(value) for name, value in schema.items() if name != "nullable"}
    return {"anyOf": [said, {"type": "null"}]} if schema.get("nullable") is True else said
