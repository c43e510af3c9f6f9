"""Turns a body, however it came, into JSON documents and loose text. Total: any bytes, any object."""

from __future__ import annotations

import enum
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

MAX_TEXT = 262_144  # a refusal is small; what is longer is an answer, and its head tells

Document = Mapping[str, Any]


class Form(enum.StrEnum):
    EMPTY = "empty"
    JSON = "json"
    STREAM = "stream"  # events or JSON lines
    HTML = "html"
    TEXT = "text"


@dataclass(frozen=True, slots=True)
class Parsed:
    form: Form
    documents: tuple[Document, ...] = ()
    text: str = ""  # what is not JSON: HTML without tags, plain text, an agent's loose lines


_HTML = re.compile(r"\s*(?:<!doctype\b|<html\b|<head\b|<body\b|<\?xml\b)", re.I)
_TAG = re.compile(r"<[^<>]{0,2000}>")
_EVENT_FIELD = re.compile(r"(?:event|id|retry|data|:)(?::|\s|$)")
_STRAY_COMMAS = re.compile(r",(?:\s*,)+")
_OBJECT_START = re.compile(r'\{\s*"(?:error|session_id)"')
_MAX_OBJECTS = 50
_NO_JSON: Any = object()


def parse(body: object) -> Parsed:
    """The documents of a body: JSON, a JSON array, an event stream or JSON lines; else its text."""
    if isinstance(body, bytes | bytearray | memoryview):
        body = bytes(body[:MAX_TEXT]).decode("utf-8", "replace")
    if isinstance(body, str):
        return _parse_text(body[:MAX_TEXT].strip("\ufeff \t\r\n\x00"))
    documents = tuple(_mappings(body))
    return Parsed(Form.JSON if documents else Form.EMPTY, documents)


def embedded_documents(text: str) -> tuple[Document, ...]:
    """JSON inside an error message: the whole of it (Google's SDK), or from its first bracket on."""
    whole = tuple(_mappings(load_json(text)))
    if whole:
        return whole
    start = re.search(r"[\[{]\s*[\"{]", text)
    return tuple(_mappings(_load_prefix(text[start.start() :]))) if start else ()


def documents_within(text: str) -> tuple[Document, ...]:
    """JSON objects that begin with an error, or an agent's session, anywhere in loose text such as stderr."""
    starts = [match.start() for match in _OBJECT_START.finditer(text)][:_MAX_OBJECTS]
    return tuple(document for start in starts for document in _mappings(_load_prefix(text[start:])))


def load_json(text: str) -> Any:
    """The value, or a marker that is no JSON type. Google's streams may carry stray commas and no-break
    spaces.
    """
    for candidate in (text, _STRAY_COMMAS.sub(",", text.replace("\xa0", " "))):
        try:
            return json.loads(candidate)
        except (ValueError, RecursionError):
            continue
    return _NO_JSON


def _load_prefix(text: str) -> Any:
    try:
        return json.JSONDecoder().raw_decode(text)[0]
    except (ValueError, RecursionError):
        return _NO_JSON


def _parse_text(text: str) -> Parsed:
    if not text:
        return Parsed(Form.EMPTY)
    if _HTML.match(text):
        return Parsed(Form.HTML, text=" ".join(_TAG.sub(" ", text).split()))
    value = load_json(text)
    if isinstance(value, str):  # JSON in a JSON string
        documents = tuple(_mappings(load_json(value)))
        return Parsed(Form.JSON, documents) if documents else Parsed(Form.TEXT, text=value)
    documents = tuple(_mappings(value))
    return Parsed(Form.JSON, documents) if documents else _parse_lines(text)


def _parse_lines(text: str) -> Parsed:
    documents: list[Document] = []
    loose: list[str] = []
    for line in text.splitlines():
        found = tuple(_mappings(load_json(line.removeprefix("data:").strip())))
        documents.extend(found)
        if not found and not _EVENT_FIELD.match(line):
            loose.append(line)
    return Parsed(Form.STREAM if documents else Form.TEXT, tuple(documents), "\n".join(loose).strip())


def _mappings(value: object) -> Iterator[Document]:
    """The objects of a value; arrays are flattened one level."""
    if isinstance(value, Mapping):
        yield value
    elif isinstance(value, list | tuple):
        yield from (item for item in value if isinstance(item, Mapping))
