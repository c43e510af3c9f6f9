"""Personal tokens: made here, shown once, stored as prefix and SHA-256.

A token carries 43 url-safe characters (256 bits) of the system's randomness, so a plain hash without salt or
stretching cannot be searched, and looking one up is a dictionary access.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass, field

MARK = "rk-"
PREFIX_LENGTH = len(MARK) + 8


@dataclass(frozen=True, slots=True)
class NewToken:
    plain: str = field(repr=False)  # the only copy
    prefix: str  # the first 11 characters, for people to tell tokens apart
    sha256: str  # hex digest of the whole token


def make_token() -> NewToken:
    """A fresh token of 46 characters."""
    return describe_token(MARK + secrets.token_urlsafe(32))


def describe_token(plain: str) -> NewToken:
    """What is stored of a token that exists already (scripts may fix the demo's)."""
    return NewToken(plain=plain, prefix=plain[:PREFIX_LENGTH], sha256=hash_token(plain))


def hash_token(plain: str) -> str:
    """Hex SHA-256 of the whole token, as stored. Total: any text a caller may send has one."""
    return hashlib.sha256(plain.encode("utf-8", "surrogatepass")).hexdigest()
