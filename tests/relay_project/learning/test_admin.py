"""What was learned, on the lane profile's page and for the advisor."""

from __future__ import annotations

from datetime import timedelta
from types import SimpleNamespace

import pytest
from django.test import Client
from django.utils import timezone

from accounts.models import UsageRow, User
from providers.models import Model, Provider
from relay_project.admin import learned
from relay_project.learning.costs import CapCosts
from relay_project.learning.prompts import PromptFactors
from relay_project.learning.rows import write_findings
from scheduling.core.learned import Finding, LimitKey, Source
from scheduling.core.spec import ChargeRule
from scheduling.core.tickets import Charge
from scheduling.models import LaneProfile
from scheduling.presets import create_profile

pytestmark = [pytest.mark.django_db, pytest.mark.urls("tests.relay_project.admin_urls")]


@pytest.fixture
def admin(client: Client) -> Client:
    client.force_login(User.objects.create(username="root", is_staff=True, is_superuser=True))
    return client


@pytest.fixture
def provider() -> Provider:
    profile = create_profile("openai", "p")
    provider = Provider.objects.create(
        slug="p", name="P", vendor="openai", dialect="openai_chat", enabled=True, lane_profile=profile
    )
    for name in ("big", "small"):
        Model.objects.create(provider=provider, upstream_name=f"up-{name}", public_name=name)
    return provider


@pytest.fixture
def running(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """A process that runs the relay, as far as the panel asks it."""
    learning = SimpleNamespace(costs=CapCosts(), prompts=PromptFactors())
    monkeypatch.setattr(learned, "_learning", lambda: learning)
    return learning


def lowered(source: Source = Source.TOLD, figure: int = 30_000) -> None:
    now = timezone.now()
    now_us = round(now.timestamp() * 1e6)
    key = LimitKey("p", source, "total_tokens", 60_000_000, "p/up-big", "acme")
    write_findings({key: Finding(figure, 60_000, now_us, now_us, now_us + 3_600_000_000, "header")}, 1, now)


def page_of(admin: Client, profile: LaneProfile | None) -> str:
    assert profile is not None
    return admin.get(f"/admin/scheduling/laneprofile/{profile.pk}/change/").content.decode()


def test_a_lowered_limit_stands_under_its_model_and_says_that_quota_will_not_help(
    admin: Client, provider: Provider
) -> None:
    lowered()
    page = page_of(admin, provider.lane_profile)
    assert (
        "The provider has lowered your limit for now: 30,000 tokens a minute instead of 60,000 tokens a minute." in page
    )
    assert "Asking for quota will not help." in page
    big, small = learned.learned_of(provider)
    assert (len(big.limits), len(small.limits)) == (1, 0)


def test_use_by_others_is_told_as_such(provider: Provider) -> None:
    lowered(Source.FOREIGN, 12_000)
    [limit] = learned.learned_of(provider)[0].limits
    assert limit.text == (
        "Somebody else uses this account: about 12,000 tokens a minute are gone, of 60,000 tokens a minute."
    )


def test_the_lengths_of_answers_stand_with_their_samples(admin: Client, provider: Provider) -> None:
    UsageRow.objects.bulk_create(
        UsageRow(
            request_id=f"r{tokens}",
            provider="p",
            model="big",
            outcome="completed",
            measured="measured",
            completion_tokens=tokens,
            created_at=timezone.now() - timedelta(days=8 if tokens > 100 else 0),
        )
        for tokens in range(1, 103)
    )
    big, small = learned.learned_of(provider)
    assert (big.lengths, big.samples) == ("50 / 95 / 99", "100")
    assert (small.lengths, small.samples) == ("", "0")
    assert "50 / 95 / 99" in page_of(admin, provider.lane_profile)


def test_what_caps_cost_is_said_in_multiples_of_the_use(provider: Provider, running: SimpleNamespace) -> None:
    running.costs.record("p/up-big", ChargeRule.PROMPT_PLUS_MAX, Charge(1_000, 3_000, True), 2_000)
    running.costs.record("p/up-small", ChargeRule.INPUT_ONLY, Charge(1_000, 3_000, True), 2_000)
    big, small = learned.learned_of(provider)
    assert (big.caps, small.caps, big.prompts) == ("reserved 2.0 × what was used", "", "1.00 ×")


def test_a_process_without_a_relay_leaves_out_what_it_cannot_know(provider: Provider) -> None:
    assert {(one.caps, one.prompts) for one in learned.learned_of(provider)} == {("", "")}


def test_a_profile_that_nobody_uses_says_what_to_do(admin: Client) -> None:
    assert "Nothing yet: give this profile to a provider" in page_of(admin, create_profile("openai", "lonely"))


def test_the_advisor_hears_of_lowered_limits_and_wasteful_caps(provider: Provider, running: SimpleNamespace) -> None:
    lowered()
    running.costs.record("p/up-big", ChargeRule.PROMPT_PLUS_MAX, Charge(1_000, 3_000, True), 2_000)
    heard = learned.heard()
    [limit] = heard.limits["p"]
    assert (limit.model, limit.measure, limit.window_s, limit.configured, limit.learned) == (
        "big",
        "total_tokens",
        60,
        60_000,
        30_000,
    )
    [reserved] = heard.reserved["p"]
    assert (reserved.model, reserved.reserved_tokens, reserved.used_tokens) == ("big", 4_000, 2_000)


def test_the_panel_costs_no_query_per_model(provider: Provider, django_assert_max_num_queries) -> None:  # type: ignore[no-untyped-def]
    for number in range(20):
        Model.objects.create(provider=provider, upstream_name=f"m{number}", public_name=f"m{number}")
    with django_assert_max_num_queries(3):
        assert len(learned.learned_of(provider)) == 22
