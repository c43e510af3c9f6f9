"""Pictures in a request, far enough to say how many came and how large."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator
from typing import Any

from providers.simulator.dialects.openai_chat.errors import BadRequest, missing


def describe_images(messages: list[dict[str, Any]]) -> list[str]:
    """`image/png 68 bytes` for a data URL, the URL itself for a link. Raises BadRequest."""
    return [_describe(param, url) for param, url in _urls(messages)]


def _urls(messages: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    for outer, message in enumerate(messages):
        parts = message.get("content")
        for inner, part in enumerate(parts if isinstance(parts, list) else []):
            if part.get("type") == "image_url":
                param = f"messages[{outer}].content[{inner}].image_url"
                image = part.get("image_url")
                if not isinstance(image, dict) or not isinstance(image.get("url"), str):
                    raise missing(f"{param}.url")
                yield f"{param}.url", image["url"]


def _describe(param: str, url: str) -> str:
    if not url.startswith("data:"):
        return url
    kind, _, encoded = url.removeprefix("data:").partition(";base64,")
    if not kind.startswith("image/"):
        raise BadRequest("Invalid MIME type. Only image types are supported.", param, "invalid_image_format")
    try:
        size = len(base64.b64decode(encoded, validate=True))
    except binascii.Error as error:
        raise BadRequest("Invalid base64 image_url.", param, "invalid_base64") from error
    return f"{kind} {size} bytes"
