"""The admin's first page: one row a provider, what does not fit together, and what today has cost.

On a fresh installation four steps stand there instead, until the first request of a caller has been booked.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from asgiref.sync import async_to_sync
from django.http import HttpRequest
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _

from accounts.models import PersonalToken, UsageRow, User
from accounts.usage_page.words import a_duration, a_number, a_percentage, money, short_number
from providers.admin.provider import light
from providers.models import ConnectionState, Provider
from relay_project.admin.advice import advice_on
from relay_project.advisor.evidence import to_look_at
from relay_project.advisor.traffic import Traffic, UsedOf, load_traffic
from relay_project.advisor.words import a_limit
from relay_project.wiring import get_relay, relay_state
from scheduling.core.snapshot import ProviderView

MOST_PIPS = 12  # more lanes are told in figures only
OUR_OWN = ("test", "probe")  # purposes of calls that no caller has made


@dataclass(frozen=True, slots=True)
class Lanes:
    running: int | None  # None: this process runs no relay
    limit: int
    waiting: int = 0

    @property
    def pips(self) -> list[bool]:
        """One for each lane, taken ones first."""
        if self.running is None or self.limit > MOST_PIPS:
            return []
        return [place < self.running for place in range(self.limit)]


@dataclass(frozen=True, slots=True)
class Row:
    provider: Provider
    light: tuple[str, Any]
    lanes: Lanes | None
    waits: str
    refused: str
    any_refused: bool
    used: str
    used_note: str


@dataclass(frozen=True, slots=True)
class Step:
    words: str
    note: str
    done: bool
    href: str


def dashboard(request: HttpRequest, context: dict[str, Any]) -> dict[str, Any]:
    """Unfold's DASHBOARD_CALLBACK. Whoever may not see providers sees the list of the admin's pages only."""
    if not isinstance(request.user, User) or not request.user.has_perm("providers.view_provider"):
        return context
    providers = to_look_at(Provider.objects.all())
    if not UsageRow.objects.exclude(purpose__in=OUR_OWN).exists():
        return context | {"first_steps": first_steps(providers)}
    return context | overview(providers, request.user)


def overview(providers: Sequence[Provider], user: User) -> dict[str, Any]:
    traffic = load_traffic(providers, timezone.now())
    live = _live_lanes()
    return {
        "providers": [_row(one, traffic.get(one.slug, Traffic()), live) for one in providers],
        "sentences": advice_on(providers, user),
        "today": _today(list(traffic.values())) if user.has_perm("accounts.view_usagerow") else None,
        "may_see_providers": True,
    }


def first_steps(providers: Sequence[Provider]) -> list[Step]:
    listed = reverse("admin:providers_provider_changelist")
    first = providers[0].pk if providers else None
    connect = reverse("admin:providers_provider_connection_page", args=[first]) if first else listed
    models = f"{reverse('admin:providers_provider_change', args=[first])}#models" if first else listed
    return [
        Step(
            _("Add a provider"),
            _("Choose a preset and paste the key; it brings its address, lanes and limits."),
            bool(providers),
            reverse("admin:providers_provider_add"),
        ),
        Step(
            _("Check its connection"),
            _("The relay asks it for its models, and says in words what is wrong if it cannot."),
            any(provider.connection_state == ConnectionState.VERIFIED for provider in providers),
            connect,
        ),
        Step(
            _("Add the models you want to offer"),
            _("Callers name a model, or a role that stands for several."),
            any(provider.models.all() for provider in providers),
            models,
        ),
        Step(
            _("Make a personal token and send the first request"),
            _("Then this page shows how every provider fares."),
            PersonalToken.objects.filter(last_used_at__isnull=False).exists(),
            reverse("admin:accounts_personaltoken_add"),
        ),
    ]


def _live_lanes() -> Mapping[str, ProviderView]:
    """What runs now; nothing where this process serves no requests."""
    if relay_state() not in ("ready", "draining"):
        return {}
    return async_to_sync(_provider_views)()


async def _provider_views() -> Mapping[str, ProviderView]:
    """On the event loop, where the coordinator lives: this view runs in a thread."""
    return {view.key: view for view in get_relay().coordinator.snapshot().providers}


def _row(provider: Provider, traffic: Traffic, live: Mapping[str, ProviderView]) -> Row:
    share = traffic.refused_share
    return Row(
        provider=provider,
        light=light(provider),
        lanes=_lanes(provider, live.get(provider.slug)),
        waits=_waits(traffic),
        refused="–" if share is None else a_percentage(share),
        any_refused=traffic.refused > 0,
        used=_used(traffic),
        used_note=traffic.used_of.model if traffic.used_of else "",
    )


def _lanes(provider: Provider, view: ProviderView | None) -> Lanes | None:
    profile = provider.lane_profile
    if profile is None:
        return None
    return Lanes(None, profile.lanes) if view is None else Lanes(view.running, view.limit, view.waiting)


def _waits(traffic: Traffic) -> str:
    values = traffic.waits.values
    return f"{a_duration(values[50])} / {a_duration(values[95])}" if values else "–"


def _used(traffic: Traffic) -> str:
    if traffic.used_of is not None:
        return _of_limit(traffic.used_of)
    if not traffic.requests_today:
        return "–"
    figures = {"requests": a_number(traffic.requests_today), "tokens": short_number(traffic.tokens_today)}
    return _("%(requests)s requests · %(tokens)s tokens") % figures


def _of_limit(used_of: UsedOf) -> str:
    """The provider's own count is the truth; ours comes close."""
    limit = a_limit(used_of.measure, used_of.limit, 0)
    return _("about %(used)s of %(limit)s") % {"used": a_number(used_of.used), "limit": limit}


def _today(traffic: Sequence[Traffic]) -> dict[str, str]:
    costs = [one.cost_microusd_today for one in traffic if one.cost_microusd_today is not None]
    return {
        "cost": money(sum(costs) if costs else None),
        "requests": a_number(sum(one.requests_today for one in traffic)),
        "tokens": short_number(sum(one.tokens_today for one in traffic)),
    }
