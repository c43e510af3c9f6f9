"""The native-async DRF base view, and the ways in which coroutines would otherwise let everybody in."""

from __future__ import annotations

from typing import Any

import pytest
from django.http import HttpResponse
from django.test import RequestFactory
from rest_framework import exceptions
from rest_framework.permissions import IsAuthenticated
from rest_framework.request import Request

from relay_project.api.base import AsyncAPIView, NotACoroutineClass, NotYetAuthenticated, check_policies


class Somebody:
    async def authenticate(self, request: Request) -> tuple[str, str]:
        return ("somebody", "token")


class Nobody:
    async def authenticate(self, request: Request) -> None:
        return None


class Yes:
    async def has_permission(self, request: Request, view: object) -> bool:
        return True


class No:
    async def has_permission(self, request: Request, view: object) -> bool:
        return False


class TooFast:
    async def allow_request(self, request: Request, view: object) -> bool:
        return False

    def wait(self) -> float:
        return 2.5


class Open(AsyncAPIView):
    authentication_classes = (Somebody,)
    permission_classes = (Yes,)

    async def post(self, request: Request) -> HttpResponse:
        return HttpResponse(f"{request.user} {request.auth}")


async def call(view: type[AsyncAPIView], method: str = "post") -> Any:
    return await view.as_view()(getattr(RequestFactory(), method)("/"))


async def test_awaited_policies_let_the_right_one_in() -> None:
    response = await call(Open)
    assert response.content == b"somebody token"


@pytest.mark.parametrize(
    ("attributes", "status", "code"),
    [
        ({"authentication_classes": (Nobody,)}, 401, b"invalid_api_key"),
        ({"permission_classes": (Yes, No)}, 403, b"model_not_allowed"),
        ({"permission_classes": (No, Yes)}, 403, b"model_not_allowed"),
        ({"throttle_classes": (TooFast,)}, 429, b"token_limit_reached"),
    ],
)
async def test_each_policy_can_refuse(attributes: dict[str, Any], status: int, code: bytes) -> None:
    response = await call(type("View", (Open,), attributes))
    assert response.status_code == status
    assert code in response.content


async def test_a_throttle_tells_both_times() -> None:
    response = await call(type("View", (Open,), {"throttle_classes": (TooFast,)}))
    assert (response["retry-after"], response["retry-after-ms"]) == (
        "3",
        "3000",
    )  # DRF rounds waits up to seconds


async def test_a_method_without_a_coroutine_is_not_allowed() -> None:
    assert (await call(Open, "get")).status_code == 405


@pytest.mark.parametrize("composed", [IsAuthenticated, IsAuthenticated & IsAuthenticated, ~IsAuthenticated])
def test_a_synchronous_or_composed_permission_is_rejected_when_the_view_is_made(composed: Any) -> None:
    with pytest.raises(NotACoroutineClass, match="permission_classes"):
        type("View", (Open,), {"permission_classes": (composed,)})


def test_a_policy_swapped_in_later_is_still_found_when_the_url_is_made() -> None:
    view = type("View", (Open,), {})
    view.permission_classes = (IsAuthenticated,)
    with pytest.raises(NotACoroutineClass):
        view.as_view()


def test_the_check_accepts_coroutine_classes() -> None:
    check_policies(Open)


async def test_reading_the_user_before_authentication_raises_instead_of_guessing() -> None:
    class Early(AsyncAPIView):
        authentication_classes = (Somebody,)

        async def _admit(self, request: Request) -> None:
            with pytest.raises(NotYetAuthenticated):
                _ = request.user
            raise exceptions.NotAuthenticated

    assert (await call(Early)).status_code == 401


async def test_a_bug_is_told_as_internal_without_its_text() -> None:
    class Buggy(Open):
        async def post(self, request: Request) -> HttpResponse:
            raise ZeroDivisionError("secret text")

    response = await call(Buggy)
    assert response.status_code == 500
    assert b"secret text" not in response.content
