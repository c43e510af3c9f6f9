"""One request as it arrived, read whole."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NoReturn
from urllib.parse import parse_qs

KEY_HEADERS = ("api-key", "x-api-key")


@dataclass(frozen=True)
class Request:
    method: str
    path: str  # percent-decoded
    query: Mapping[str, list[str]]
    headers: Mapping[str, str]  # lower-case names; of several, the last
    body: bytes

    @cached_property
    def document(self) -> Any:
        """The body as JSON. Raises ValueError (also for NaN and Infinity, which are not JSON)."""
        return json.loads(self.body, parse_constant=_not_json)

    @cached_property
    def fields(self) -> Mapping[str, Any]:
        """The body's members; empty where it is not a JSON object."""
        try:
            return self.document if isinstance(self.document, dict) else {}
        except (ValueError, RecursionError):
            return {}

    @property
    def key(self) -> str | None:
        scheme, _, key = self.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer" and key.strip():
            return key.strip()
        return next((self.headers[name] for name in KEY_HEADERS if self.headers.get(name)), None)

    @property
    def key_fingerprint(self) -> str:
        return hashlib.sha256(self.key.encode()).hexdigest()[:12] if self.key else ""


def read_request(scope: Mapping[str, Any], body: bytes) -> Request:
    """An ASGI `http` scope and its body → a Request."""
    headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
    query = parse_qs(scope.get("query_string", b"").decode("latin-1"))
    return Request(scope["method"], scope["path"], query, headers, body)


def _not_json(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")
