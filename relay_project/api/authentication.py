"""Personal tokens → `Caller`, from the configuration in memory: no database on the way.

The same lookup in two dresses: a coroutine class for the generation views, a plain one for stock DRF views.
"""

from __future__ import annotations

from typing import cast

from django.utils.translation import gettext as _
from rest_framework.authentication import BaseAuthentication
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from accounts.tokens import hash_token
from relay_project.errors import InvalidKey, NotAllowed
from relay_project.snapshot import Caller
from relay_project.wiring import get_relay


def caller_of(authorization: str | None, api_key: str | None) -> Caller | None:
    """None if no token was sent; raises `InvalidKey` for one that is unknown, expired or revoked."""
    token = _bearer(authorization) or (api_key or "").strip()
    if not token:
        return None
    relay = get_relay()
    caller = relay.configuration.callers.get(hash_token(token))
    if caller is None or _expired(caller, relay.clock.wall_us()):
        raise InvalidKey
    return caller


def _bearer(authorization: str | None) -> str:
    scheme, _space, token = (authorization or "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def _expired(caller: Caller, wall_us: int) -> bool:
    return caller.expires_wall_us is not None and caller.expires_wall_us <= wall_us


def _caller_of_request(request: Request) -> tuple[Caller, Caller] | None:
    caller = caller_of(request.META.get("HTTP_AUTHORIZATION"), request.META.get("HTTP_X_API_KEY"))
    return None if caller is None else (caller, caller)


def authenticated(request: Request) -> Caller:
    """The caller behind a personal token, after authentication."""
    return cast(Caller, request.auth)


class AwaitedTokenAuthentication:
    """For generation views."""

    async def authenticate(self, request: Request) -> tuple[Caller, Caller] | None:
        return _caller_of_request(request)


class PersonalTokenAuthentication(BaseAuthentication):
    """For stock DRF views."""

    def authenticate(self, request: Request) -> tuple[Caller, Caller] | None:
        return _caller_of_request(request)

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


class MayChat:
    """Awaited permission: the token has the scope `chat`."""

    async def has_permission(self, request: Request, view: object) -> bool:
        if "chat" not in authenticated(request).scopes:
            raise NotAllowed(_("Your token has no scope for chat."))
        return True


class MayListModels(BasePermission):
    """The token has the scope `models`; a signed-in browser session may always."""

    def has_permission(self, request: Request, view: object) -> bool:
        if not request.user or not request.user.is_authenticated:
            return False
        caller: object = request.user
        return not isinstance(caller, Caller) or "models" in caller.scopes
