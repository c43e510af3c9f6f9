"""Takes keys out of a provider's words before anyone is shown them."""

from __future__ import annotations

import re
from dataclasses import replace

from providers.contract import Refusal

_MASK = "…"
SHORTEST_KEY = 8  # shorter ones are place-holders for servers that want none, and parts of words
_SECRETS = (
    re.compile(r"(?i)([?&;](?:api[_-]?key|key|access_token|token|sig|signature)=)[^&\s\"'<>]+"),
    re.compile(r"(?i)\b(bearer\s+)[\w.~+/=-]{6,}"),
    re.compile(r"(?i)\b(basic\s+)[\w+/=-]{16,}"),
    re.compile(r"(?i)((?:api[_-]?key|x-api-key|authorization|secret|password)[\"']?\s?[:=]\s?[\"']?)[\w.~+/*=-]{6,}"),
    re.compile(r"\b((?:sk|rk|pk|ak|gsk|xai|hf|nvapi|fw|r8|pplx|csk|ghp|gho|ghs|key|tok)[-_])[\w-]{8,}"),
    re.compile(r"\b(AIza)[\w-]{20,}"),
    re.compile(r"\b((?:AKIA|ASIA))[A-Z0-9]{12,}"),
    re.compile(r"\b(github_pat_|ya29\.|eyJ)[\w.-]{16,}"),
)


def redact(text: str) -> str:
    """`text` with anything that looks like a credential masked, and only characters that can be encoded."""
    for secret in _SECRETS:
        text = secret.sub(rf"\1{_MASK}", text)
    return text.encode("utf-8", "replace").decode("utf-8")


def presentable(text: str, limit: int) -> str:
    """`text` redacted and cut to `limit` characters. Cut twice: first far behind the end of what is shown, so
    that a huge text costs little and no key is cut in two before it is recognised.
    """
    text = redact(text[: 2 * limit + 200])
    return text if len(text) <= limit else text[: limit - 1] + _MASK


def without_key(refusal: Refusal, key: str) -> Refusal:
    """Some providers say the key back. Patterns know it by its looks only; here it is known by heart."""
    if len(key) < SHORTEST_KEY:
        return refusal
    words = {name: getattr(refusal, name) for name in ("message", "evidence", "code", "limit_name")}
    return replace(refusal, **{name: text.replace(key, _MASK) for name, text in words.items()})
