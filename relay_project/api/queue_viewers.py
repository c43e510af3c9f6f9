"""Who watches the queue: a browser session or a personal token, over HTTP and over a WebSocket.

A token comes in the `Authorization` header or, because a browser's script cannot set headers on a WebSocket,
as the subprotocol `bearer.<token>`. Never in the address: addresses are logged.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth import get_user
from django.http import HttpRequest, parse_cookie
from django.http.request import split_domain_port, validate_host

from accounts.tokens import hash_token
from relay_project.api.queue_feed import TokenHolder
from relay_project.api.queue_rendering import Viewer

QUEUE_SCOPE = "queue"
BEARER_SUBPROTOCOL = "bearer."

Headers = Mapping[str, str]


def viewer_of_user(user: Any) -> Viewer:
    """A signed-in user of the Django session."""
    return Viewer(f"user:{user.pk}", staff=bool(user.is_staff))


def viewer_of_session(session_key: str) -> Viewer | None:
    """The user of a live browser session, read from the database; None when signed out, expired or
    deactivated.
    """
    request = HttpRequest()
    request.session = import_module(settings.SESSION_ENGINE).SessionStore(session_key or None)
    user = get_user(request)
    return viewer_of_user(user) if user.is_authenticated else None


def viewer_of_token(holder: TokenHolder) -> Viewer:
    return Viewer(holder.owner, staff=holder.is_staff)


def pick_token_holder(plain: str, callers: Mapping[str, TokenHolder], wall_us: int) -> TokenHolder | None:
    """The holder of a live token that may watch the queue; None for every other token."""
    holder = callers.get(hash_token(plain))
    if holder is None or QUEUE_SCOPE not in holder.scopes:
        return None
    if holder.expires_wall_us is not None and holder.expires_wall_us <= wall_us:
        return None
    return holder


def headers_of(scope: Mapping[str, Any]) -> Headers:
    """An ASGI scope's headers, names in lower case."""
    return {name.decode("latin1").lower(): value.decode("latin1") for name, value in scope["headers"]}


def session_key_in(headers: Headers) -> str:
    return parse_cookie(headers.get("cookie", "")).get(settings.SESSION_COOKIE_NAME, "")


def token_in(headers: Headers, subprotocols: list[str]) -> str:
    """The personal token offered with a WebSocket handshake, "" if none."""
    scheme, _, value = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return value.strip()
    offered = [name for name in subprotocols if name.startswith(BEARER_SUBPROTOCOL)]
    return offered[0].removeprefix(BEARER_SUBPROTOCOL) if offered else ""


def is_foreign_origin(headers: Headers) -> bool:
    """A page of another site: it would ride on the visitor's session. Programs send no Origin and have no
    session.
    """
    origin = headers.get("origin")
    if origin is None:
        return False
    if origin in settings.CSRF_TRUSTED_ORIGINS:
        return False
    host = headers.get("host", "")
    return urlsplit(origin).netloc.lower() != host.lower() or not _is_our_host(host)


def _is_our_host(host: str) -> bool:
    """Checked against ALLOWED_HOSTS, so that a name pointed at us by others (DNS rebinding) is not "the same
    site".
    """
    domain, _port = split_domain_port(host)
    return bool(domain) and validate_host(domain, settings.ALLOWED_HOSTS)
