"""A caller's chat request → what goes to the upstream.

Only what must differ is replaced: the model's name, for streams the wish for usage, and the caller's caps where they
are to be lower. Every other member goes on byte for byte as the caller wrote it, so unknown members and big integers
survive.
"""

from __future__ import annotations

import msgspec

from providers.adapters.openai_chat.capabilities import CAP_MEMBERS, USAGE_UNASKED
from providers.contract import ChatRequest, Target

_members = msgspec.json.Decoder(dict[str, msgspec.Raw])
_JSON = ("content-type", "application/json")


def encode_chat(request: ChatRequest, target: Target) -> bytes:
    members = _members.decode(request.body)
    members["model"] = msgspec.Raw(msgspec.json.encode(target.model))
    if request.stream and target.vendor not in USAGE_UNASKED:
        members["stream_options"] = _with_usage(members.get("stream_options"))
    if request.cap_tokens is not None:
        members |= _lowered(members, request.cap_tokens)
    return _object(members)


def encode_headers(target: Target, *, stream: bool) -> list[tuple[str, str]]:
    headers = [
        _JSON,
        ("accept", "text/event-stream" if stream else "application/json"),
        *target.headers.items(),
    ]
    if target.credential is not None:
        headers.append(("authorization", f"Bearer {target.credential.key}"))
    return headers


def _lowered(members: dict[str, msgspec.Raw], cap_tokens: int) -> dict[str, msgspec.Raw]:
    """The caller's caps that are larger, at that figure; what it has not set stays unset."""
    raw = msgspec.Raw(msgspec.json.encode(cap_tokens))
    return {name: raw for name in CAP_MEMBERS if _is_above(members.get(name), cap_tokens)}


def _is_above(value: msgspec.Raw | None, cap_tokens: int) -> bool:
    figure = None if value is None else msgspec.json.decode(value)
    return isinstance(figure, int) and figure > cap_tokens


def _with_usage(stream_options: msgspec.Raw | None) -> msgspec.Raw:
    given = {} if stream_options is None or bytes(stream_options) == b"null" else _members.decode(stream_options)
    return msgspec.Raw(_object(given | {"include_usage": msgspec.Raw(b"true")}))


def _object(members: dict[str, msgspec.Raw]) -> bytes:
    return b"{" + b",".join(msgspec.json.encode(name) + b":" + bytes(value) for name, value in members.items()) + b"}"
