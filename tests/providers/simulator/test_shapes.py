"""Answers against OpenAI's own published description, where it lies beside the project."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.providers.simulator.upstream import Upstream

DESCRIPTION = Path(__file__).parents[4] / "shared" / "facts" / "openai-openapi.json"

pytestmark = [
    pytest.mark.served,
    pytest.mark.skipif(not DESCRIPTION.exists(), reason="OpenAI's API description is not beside the project: left out"),
]

TOOLS = [{"type": "function", "function": {"name": "t", "parameters": {"properties": {"a": {"type": "string"}}}}}]
VARIANTS: list[dict[str, Any]] = [
    {},
    {"n": 2, "logprobs": True, "top_logprobs": 1},
    {"tools": TOOLS},
    {"max_tokens": 1},
]


@pytest.fixture(scope="module")
def components() -> dict[str, Any]:
    return _null_allowed(json.loads(DESCRIPTION.read_text()))["components"]


def _null_allowed(node: Any) -> Any:
    """`nullable: true` means: or null."""
    if isinstance(node, list):
        return [_null_allowed(member) for member in node]
    if not isinstance(node, dict):
        return node
    plain = {name: _null_allowed(value) for name, value in node.items() if name != "nullable"}
    return {"anyOf": [plain, {"type": "null"}]} if node.get("nullable") is True else plain


def check(components: dict[str, Any], name: str, document: Any) -> None:
    jsonschema.validate(document, {"$ref": f"#/components/schemas/{name}", "components": components})


@pytest.mark.parametrize("fields", VARIANTS)
async def test_a_completion_is_as_described(upstream: Upstream, components, fields):
    check(components, "CreateChatCompletionResponse", (await upstream.post(**fields)).json())


@pytest.mark.parametrize("fields", [*VARIANTS, {"stream_options": {"include_usage": True}}])
async def test_every_chunk_is_as_described(upstream: Upstream, components, fields):
    wire = await upstream.wire(stream=True, **fields)
    assert wire.events[-1] == "[DONE]"
    for chunk in wire.events[:-1]:
        check(components, "CreateChatCompletionStreamResponse", chunk)


async def test_models_and_errors_are_as_described(upstream: Upstream, components):
    check(components, "ListModelsResponse", (await upstream.get("/v1/models")).json())
    check(components, "Model", (await upstream.get("/v1/models/sim-small")).json())
    for refused in (await upstream.post("other"), await upstream.post(n=0), await upstream.post(key=None)):
        check(components, "ErrorResponse", refused.json())


async def test_a_wrong_shape_would_be_seen(upstream: Upstream, components):
    document = (await upstream.post()).json()
    with pytest.raises(jsonschema.ValidationError):
        check(components, "CreateChatCompletionResponse", {**document, "choices": [{"index": 0}]})
