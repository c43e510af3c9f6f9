"""Personal tokens for tests, made in a running relay."""

from __future__ import annotations

import time

from tests.acceptance.console import Console
from tests.acceptance.live import IN_FORCE_WITHIN_S
from tests.acceptance.served import ServedRelay
from tests.acceptance.waiting import wait_until
from tests.acceptance.wire import send

SCOPES = ("chat", "models", "queue")


def make_token(console: Console, *, scopes: list[str] | tuple[str, ...] = SCOPES, made: str = "") -> str:
    """A token of the demo's member, in plain. `made`: further fields as Python, e.g. `expires_at=timezone.now()`."""
    plain: str = console.run(f"""
        from django.utils import timezone
        from accounts.tokens import make_token
        new = make_token()
        PersonalToken.objects.create(
            user=User.objects.get(username="member"), name="test", prefix=new.prefix, sha256=new.sha256,
            scopes={list(scopes)!r}, {made}
        )
        result = new.plain
    """)
    return plain


def revoke(console: Console, token: str) -> float:
    """Returns the moment (monotonic, s) from which it must be refused within a second."""
    console.run(f"""
        from django.utils import timezone
        row = PersonalToken.objects.get(prefix={token[:11]!r})
        row.revoked_at = timezone.now()
        row.save()
    """)
    return time.monotonic()


def status_with(relay: ServedRelay, token: str) -> int:
    """What a harmless request with this token is answered."""
    return send(relay, "GET", "/v1/models", headers={"Authorization": f"Bearer {token}"}).status


def wait_until_known(relay: ServedRelay, token: str) -> None:
    wait_until(lambda: status_with(relay, token) == 200, IN_FORCE_WITHIN_S, "the new token")
