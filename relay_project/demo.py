"""What a newcomer finds: a simulated provider, two roles, an admin, a member and one personal token.

Every part is made only if it is not there yet, so nothing an admin has changed since is changed back.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field

from django.db import transaction

from accounts.models import PersonalToken, User
from accounts.tokens import describe_token, make_token
from providers.models import Credential, Model, Provider
from providers.presets import VENDORS
from scheduling.models import RelayLimits, Role, RoleCandidate
from scheduling.presets import create_profile

SIMULATOR = "simulator"
SIMULATOR_KEY = "sk-simulator"  # it takes any key, but wants one, as providers do
# Public name → upstream name; the simulator reads how it shall behave in the latter.
MODELS = {
    "sim-small": "sim-small",
    "sim-large": "sim-large",
    "sim-slow": "sim-slow;ttft_ms=1500;tokens_per_s=10",
}
ROLES = {
    "fast-chat": ("Quick answers.", ("sim-small", "sim-large")),
    "deep-think": ("Long work, slowly.", ("sim-large", "sim-slow")),
}


@dataclass(frozen=True, slots=True)
class Demo:
    admin_username: str
    password: str | None = field(repr=False)  # None: the admin was there already
    token: str | None = field(repr=False)  # None: the token was there already


@transaction.atomic
def make_demo(simulator_url: str, password: str | None = None, token: str | None = None) -> Demo:
    """Make what is missing. `simulator_url` ends with /v1; the row follows it, as the port may change.

    `password` and `token` fix the secrets (for scripts), else they are random. Both come back in plain only
    from the call that made them.
    """
    RelayLimits.objects.get_or_create(pk=1)
    _follow_simulator(simulator_url)
    _make_roles()
    shown_password = _make_admin(password)
    return Demo(admin_username="admin", password=shown_password, token=_make_member_token(token))


def _follow_simulator(url: str) -> None:
    provider = Provider.objects.filter(slug=SIMULATOR).first()
    if provider is None:
        provider = _make_simulator(url)
    elif provider.base_url != url:
        provider.base_url = url
        provider.save(update_fields=["base_url"])


def _make_simulator(url: str) -> Provider:
    provider = Provider.objects.create(
        slug=SIMULATOR,
        name="Simulator",
        vendor=SIMULATOR,
        dialect=VENDORS[SIMULATOR].dialect,
        base_url=url,
        enabled=True,
        lane_profile=create_profile(SIMULATOR, SIMULATOR),
    )
    for public, upstream in MODELS.items():
        Model.objects.create(
            provider=provider,
            public_name=public,
            upstream_name=upstream,
            context_window=32_768,
            max_output=4_096,
        )
    Credential.objects.create(provider=provider, label="demo", key=SIMULATOR_KEY)
    return provider


def _make_roles() -> None:
    for name, (description, candidates) in ROLES.items():
        role, made = Role.objects.get_or_create(name=name, defaults={"description": description})
        if made:
            models = Model.objects.in_bulk(candidates, field_name="public_name")
            for position, candidate in enumerate(name for name in candidates if name in models):
                RoleCandidate.objects.create(role=role, model=models[candidate], position=position)


def _make_admin(password: str | None) -> str | None:
    if User.objects.filter(username="admin").exists():
        return None
    password = password or secrets.token_urlsafe(12)
    User.objects.create_superuser("admin", password=password)
    return password


def _make_member_token(token: str | None) -> str | None:
    member, made = User.objects.get_or_create(username="member")
    if made:
        member.set_unusable_password()
        member.save(update_fields=["password"])
    if member.tokens.exists():
        return None
    new = describe_token(token) if token else make_token()
    PersonalToken.objects.create(user=member, name="demo", prefix=new.prefix, sha256=new.sha256)
    return new.plain
