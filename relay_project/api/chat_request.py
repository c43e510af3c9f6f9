"""The caller's chat request, read at the edge: bytes → `ParsedChat`. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
from django.utils.translation import gettext as _

from providers.contract import ChatRequest
from relay_project.api.validation import check_chat, is_whole
from relay_project.errors import InvalidRequest
from scheduling.core.spec import Class

_decode = msgspec.json.Decoder().decode
CAPS = ("max_tokens", "max_completion_tokens", "max_output_tokens")
CLASSES = {klass.name.lower(): klass for klass in Class}
FLEX_TIERS = {"flex": Class.BATCH}
# Levels of nesting. Far above any real request and far below the interpreter's own limit, which whoever reads the body
# after us (the adapter, the upstream) would meet at another depth than we did.
DEEPEST = 200
_HALF_A_PAIR = re.compile(rb"(?<!\\)(?:\\\\)*(\\u[dD][89abAB][0-9a-fA-F]{2})(?!\\u[dD][c-fC-F])")


@dataclass(frozen=True, slots=True)
class ParsedChat:
    request: ChatRequest
    model: str  # as the caller wrote it: a role or a model
    cap_tokens: int | None  # the largest of the caller's caps × n; None = none given
    choices: int

    def prompt_text(self) -> str:
        """All text the model will read, for an estimate."""
        fields = self.request.fields
        read = (fields.get("messages"), fields.get("tools"), fields.get("functions"))
        return "\n".join(text for part in read for text in _texts(part))


def parse_chat(body: bytes) -> ParsedChat:
    """Raises `InvalidRequest` naming the field."""
    fields = _object(body)
    check_chat(fields)
    stream_options = fields.get("stream_options") or {}
    request = ChatRequest(
        body=body,
        fields=fields,
        stream=bool(fields.get("stream")),
        wants_usage_chunk=bool(stream_options.get("include_usage")),
    )
    choices = fields.get("n") or 1
    caps = [fields[name] for name in CAPS if is_whole(fields.get(name))]
    return ParsedChat(request, fields["model"], max(caps) * choices if caps else None, choices)


def asked_class(header: str | None, fields: Mapping[str, Any], cap: Class) -> Class:
    """A caller may lower its class, never raise it above its token's."""
    asked = FLEX_TIERS.get(str(fields.get("service_tier")), cap)
    if header is not None:
        if header.strip().lower() not in CLASSES:
            raise InvalidRequest(_("X-Relay-Class must be one of interactive, normal, batch."), param="X-Relay-Class")
        asked = CLASSES[header.strip().lower()]
    return max(asked, cap)


def asked_wait_us(header: str | None) -> int | None:
    """`X-Relay-Max-Wait-Ms` in microseconds."""
    if header is None:
        return None
    if not header.strip().isdecimal() or len(header) > 10:
        raise InvalidRequest(
            _("X-Relay-Max-Wait-Ms must be a whole number of milliseconds."), param="X-Relay-Max-Wait-Ms"
        )
    return int(header) * 1000


def check_encoding(header: str | None) -> None:
    """`Content-Encoding` of the request. Bodies come as they are: unpacking would undo the bound on their size."""
    if header is not None and header.strip().lower() not in ("", "identity"):
        raise InvalidRequest(_("The body must be sent as it is, without a Content-Encoding."), param="Content-Encoding")


def _object(body: bytes) -> Mapping[str, Any]:
    try:
        fields = _decode(body)
    except msgspec.DecodeError as error:
        raise InvalidRequest(_("The body is not valid JSON: %(why)s") % {"why": _why(body, error)}) from error
    except UnicodeDecodeError as error:
        raise InvalidRequest(_("The body is not valid UTF-8.")) from error
    except RecursionError as error:
        raise _too_deep() from error
    if not isinstance(fields, dict):
        raise InvalidRequest(_("The body must be a JSON object."))
    _check_depth(fields, body)
    return fields


def _why(body: bytes, error: msgspec.DecodeError) -> str:
    """The decoder calls half a pair "truncated". Clients send it when they cut a text in the middle of an emoji."""
    half = _HALF_A_PAIR.search(body)
    return f"{half[1].decode()} is half of a surrogate pair" if half else str(error)


def _check_depth(fields: Mapping[str, Any], body: bytes) -> None:
    """Layer by layer, not by recursion; not at all where the body has too few brackets to be deep."""
    if body.count(b"[") + body.count(b"{") <= DEEPEST:
        return
    layer: list[Any] = [fields]
    for _level in range(DEEPEST):
        layer = [inner for outer in layer for inner in _inside(outer) if isinstance(inner, dict | list)]
        if not layer:
            return
    raise _too_deep()


def _inside(value: dict[str, Any] | list[Any]) -> Iterable[Any]:
    return value.values() if isinstance(value, dict) else value


def _too_deep() -> InvalidRequest:
    return InvalidRequest(_("The body is nested too deeply."))


def _texts(value: object) -> Iterator[str]:
    """Strings a model reads, however nested; data URLs are not text. A stack, not recursion: callers nest deeply."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            if not item.startswith("data:"):
                yield item
        elif isinstance(item, Mapping):
            waiting.extend(item.values())
        elif isinstance(item, list):
            waiting.extend(item)
