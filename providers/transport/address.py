"""Addresses: sent as they are, told without what may be secret in them."""

from __future__ import annotations

import aiohttp
from yarl import URL


def parse_url(url: str) -> URL:
    """An already encoded URL, kept as it is (`%2F` stays `%2F`). Raises `aiohttp.InvalidURL`."""
    if not (url.isascii() and url.isprintable() and " " not in url):
        raise aiohttp.InvalidURL("")
    try:
        parsed = URL(url, encoded=True)
        parsed.port  # noqa: B018 -- an encoded URL is not checked before it is looked at
        return parsed
    except ValueError:
        raise aiohttp.InvalidURL("") from None


def origin_of(url: str) -> str:
    """Scheme, host and port; what else stands in an address (user, path, query) may be a key."""
    try:
        return str(URL(url, encoded=True).origin())
    except ValueError:
        return "address unreadable"
