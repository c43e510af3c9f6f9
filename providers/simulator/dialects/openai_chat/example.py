"""A JSON Schema → one value that fits it, always the same for the same word."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

DEEPEST = 8  # a schema that contains itself ends here


def example_of(schema: Mapping[str, Any], word: str) -> Any:
    """Strings are `word`, whole numbers its number of words, lists have one member, all properties are given."""
    return _Example(schema, word).of(schema, 0)


class _Example:
    def __init__(self, root: Mapping[str, Any], word: str) -> None:
        self._root = root
        self._word = word

    def of(self, schema: Mapping[str, Any], depth: int) -> Any:
        schema = self._resolved(schema)
        if "const" in schema:
            return schema["const"]
        if schema.get("enum"):
            return schema["enum"][0]
        for choice in ("anyOf", "oneOf", "allOf"):
            if schema.get(choice):
                return self.of(_pick(schema[choice], depth), depth + 1)
        return self._of_type(_type_of(schema, depth), schema, depth)

    def _of_type(self, kind: str, schema: Mapping[str, Any], depth: int) -> Any:
        if kind == "object":
            names = schema.get("properties", {}) if depth < DEEPEST else {}
            return {name: self.of(member, depth + 1) for name, member in names.items()}
        if kind == "array":
            count = max(1, schema.get("minItems", 1)) if depth < DEEPEST else 0
            return [self.of(schema.get("items", {"type": "string"}), depth + 1)] * count
        if kind in {"integer", "number"}:
            return self._number(schema)
        return {"string": self._word, "boolean": True, "null": None}[kind]

    def _number(self, schema: Mapping[str, Any]) -> int | float:
        number = max(len(self._word.split()), schema.get("minimum", 0))
        return min(number, schema.get("maximum", number))  # type: ignore[no-any-return]

    def _resolved(self, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        """Follow `#/$defs/Name`."""
        reference = schema.get("$ref")
        if not isinstance(reference, str):
            return schema
        found: Any = self._root
        for step in reference.removeprefix("#").strip("/").split("/"):
            found = found.get(step, {}) if step else found
        return self._resolved(found) if found is not schema else {}


def _type_of(schema: Mapping[str, Any], depth: int) -> str:
    kind = schema.get("type", "object" if "properties" in schema else "string")
    if isinstance(kind, list):
        kind = "null" if "null" in kind and depth >= DEEPEST else next((k for k in kind if k != "null"), "null")
    return kind if kind in {"object", "array", "integer", "number", "string", "boolean", "null"} else "string"


def _pick(choices: list[Mapping[str, Any]], depth: int) -> Mapping[str, Any]:
    """The first that is something; nothing, where it would go too deep."""
    nothing = [choice for choice in choices if choice.get("type") == "null"]
    something = [choice for choice in choices if choice.get("type") != "null"]
    return (nothing or something)[0] if depth >= DEEPEST else (something or nothing)[0]
