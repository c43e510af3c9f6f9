"""The advisor's sentences as the admin's pages show them: each with a link to where it is put right."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from django.urls import reverse
from django.utils import timezone
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from accounts.models import User
from providers.models import Provider
from relay_project.admin.learned import heard
from relay_project.advisor.evidence import load_facts, to_look_at
from relay_project.advisor.rules import Advice, Rule, advise
from relay_project.advisor.words import sentence

_AT_CONNECTION = frozenset({Rule.CONNECTION_FAILED, Rule.NEVER_CHECKED})
_AT_PROVIDER = frozenset({Rule.PROFILE_MISSING})


@dataclass(frozen=True, slots=True)
class Link:
    href: str
    words: str | Promise


@dataclass(frozen=True, slots=True)
class Sentence:
    text: str
    serious: bool
    link: Link | None  # None where the reader may not go there


def advice_on(providers: Sequence[Provider], user: User) -> list[Sentence]:
    """`providers` as `to_look_at` gives them."""
    by_slug = {provider.slug: provider for provider in providers}
    advice = advise(load_facts(providers, timezone.now(), heard()))
    return [Sentence(sentence(one), one.is_serious, _link(one, by_slug, user)) for one in advice]


def advice_on_one(provider: Provider, user: User) -> list[Sentence]:
    return advice_on(to_look_at(Provider.objects.filter(pk=provider.pk)), user)


def _link(advice: Advice, providers: Mapping[str, Provider], user: User) -> Link | None:
    provider = providers[advice.provider]
    if advice.rule in _AT_CONNECTION:
        if not user.has_perm("providers.change_provider"):
            return None
        return Link(reverse("admin:providers_provider_connection_page", args=[provider.pk]), _("Check the connection"))
    if advice.rule in _AT_PROVIDER or provider.lane_profile_id is None:
        return Link(reverse("admin:providers_provider_change", args=[provider.pk]), _("Open the provider"))
    if not user.has_perm("scheduling.view_laneprofile"):
        return None
    href = reverse("admin:scheduling_laneprofile_change", args=[provider.lane_profile_id])
    return Link(href, _("Open the lane profile"))
