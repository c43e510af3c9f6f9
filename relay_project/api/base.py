"""A DRF view whose authentication, permissions and throttles are awaited on the loop.

Same class attributes, exceptions and rendering as DRF. What differs: every authentication, permission and throttle
class must be a coroutine class (checked when the view class is made), they are awaited without a thread, and there is
no content negotiation (a stream answers `Accept: text/event-stream` and everything else alike).

Why the check at import: DRF's composed permissions (`A & B`, `~A`) call `has_permission` and test the result for
truth. A coroutine object is always true, so a composed coroutine permission lets everybody in.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from inspect import isclass, iscoroutinefunction
from typing import Any

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.decorators import classonlymethod
from rest_framework import exceptions
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request
from rest_framework.views import APIView

from relay_project.rendering import problem_response

_COROUTINES = (
    ("authentication_classes", "authenticate"),
    ("permission_classes", "has_permission"),
    ("throttle_classes", "allow_request"),
)


class NotACoroutineClass(TypeError):
    """A policy class of a generation view would not be awaited, or would be bypassed."""


class NotYetAuthenticated(RuntimeError):
    """`request.user` was read before the awaited authentication had run."""


def check_policies(view_class: type[APIView]) -> None:
    """Raise `NotACoroutineClass` unless each policy of the view is a plain class with a coroutine method."""
    for attribute, method in _COROUTINES:
        for policy in getattr(view_class, attribute):
            if not isclass(policy) or not iscoroutinefunction(getattr(policy, method, None)):
                raise NotACoroutineClass(
                    f"{view_class.__qualname__}.{attribute}: {policy!r} must be a class with a coroutine {method}(); "
                    "composed (&, |, ~) and synchronous classes would let everybody in."
                )


class _RefusesToGuess(BaseAuthentication):
    """Stands in for DRF's lazy authenticators: they would run a coroutine as if it were an answer."""

    def authenticate(self, request: Request) -> None:
        raise NotYetAuthenticated("request.user is there only after `await authenticate`")

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


class AsyncAPIView(APIView):
    """Base of the generation endpoints."""

    authentication_classes: Any = ()
    permission_classes: Any = ()
    throttle_classes: Any = ()

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        check_policies(cls)

    @classonlymethod
    def as_view(cls, **initkwargs: Any) -> Any:  # a coroutine function, which DRF's own type does not foresee
        check_policies(cls)
        authenticators = [policy() for policy in cls.authentication_classes]
        permissions = [policy() for policy in cls.permission_classes]
        throttles = [policy() for policy in cls.throttle_classes]

        async def view(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            self = cls(**initkwargs)
            self._policies = (authenticators, permissions, throttles)
            return await self.dispatch_async(request, *args, **kwargs)

        view.cls = cls  # type: ignore[attr-defined]  # DRF, spectacular and the system check look for it
        view.initkwargs = initkwargs  # type: ignore[attr-defined]
        view.csrf_exempt = True  # type: ignore[attr-defined]  # bearer tokens only, no cookies
        view.login_required = False  # type: ignore[attr-defined]
        return view

    async def dispatch_async(self, http_request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        self.args, self.kwargs = args, kwargs
        self.headers: dict[str, str] = {}
        request = Request(http_request, authenticators=[_RefusesToGuess()])
        self.request = request
        try:
            await self._admit(request)
            return await self._method(request)(request, *args, **kwargs)
        except asyncio.CancelledError:
            raise
        except Exception as error:  # noqa: BLE001  every error becomes an answer in the caller's dialect
            return self.answer_error(error)

    def answer_error(self, error: Exception) -> HttpResponseBase:
        """What the caller gets for an exception."""
        return problem_response(error)

    async def _admit(self, request: Request) -> None:
        authenticators, permissions, throttles = self._policies
        await _authenticate(request, authenticators)
        for permission in permissions:
            if not await permission.has_permission(request, self):
                raise exceptions.PermissionDenied(
                    getattr(permission, "message", None), getattr(permission, "code", None)
                )
        for throttle in throttles:
            if not await throttle.allow_request(request, self):
                raise exceptions.Throttled(throttle.wait())

    def _method(self, request: Request) -> Callable[..., Awaitable[HttpResponseBase]]:
        name = (request.method or "").lower()
        method = getattr(self, name, None) if name in self.http_method_names else None
        if method is None or not iscoroutinefunction(method):
            raise exceptions.MethodNotAllowed(request.method or "")
        return method  # type: ignore[no-any-return]

    _policies: tuple[list[Any], list[Any], list[Any]] = ([], [], [])


async def _authenticate(request: Request, authenticators: list[Any]) -> None:
    for authenticator in authenticators:
        found = await authenticator.authenticate(request)
        if found is not None:
            request.user, request.auth = found
            return
    raise exceptions.NotAuthenticated
