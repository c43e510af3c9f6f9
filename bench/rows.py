"""The relay's configuration for a measurement, made through the ORM: `python -m bench.rows UPSTREAM_URL`.

Migrates the (empty, throw-away) database the environment names, opens the lanes so wide that nobody ever waits, and
prints the personal token.
"""

from __future__ import annotations

import os
import sys

import django

from bench.upstream import MODEL

LANES = 10_000


def make_rows(upstream_url: str) -> str:
    """The plain personal token."""
    from accounts.models import PersonalToken, User
    from accounts.tokens import make_token
    from providers.models import Credential, Model, Provider
    from scheduling.models import RelayLimits
    from scheduling.presets import create_profile

    RelayLimits.objects.create(max_running=LANES, max_inside=LANES)
    profile = create_profile("custom", "bench", lanes=LANES, wait_timeout_s=60, run_timeout_s=180)
    provider = Provider.objects.create(
        slug="bench",
        name="Bench",
        vendor="custom",
        dialect="openai_chat",
        base_url=upstream_url,
        enabled=True,
        lane_profile=profile,
    )
    Model.objects.create(provider=provider, upstream_name=MODEL, context_window=32_768, max_output=4_096)
    Credential.objects.create(provider=provider, label="bench", key="sk-bench")
    token = make_token()
    member = User.objects.create(username="bench")
    PersonalToken.objects.create(user=member, name="bench", prefix=token.prefix, sha256=token.sha256)
    return token.plain


if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "relay_project.settings")
    django.setup()
    from django.core.management import call_command

    call_command("migrate", interactive=False, verbosity=0)
    print(make_rows(sys.argv[1]))
