"""Rows → the configuration the hot path reads."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from accounts.models import PersonalToken, Team, User
from accounts.tokens import make_token
from providers.models import Credential, Model, Provider
from relay_project.loading import load_configuration
from scheduling.core.spec import ChargeRule, Class, Measure, Scope
from scheduling.models import LaneProfile, LaneWindow, ModelOverride, RelayLimits, Role, RoleCandidate

pytestmark = pytest.mark.django_db


def make_provider(slug: str, **profile: object) -> Provider:
    figures = {"lanes": 3, "lanes_per_model": 1, "wait_timeout_s": 60, "run_timeout_s": 300} | profile
    return Provider.objects.create(
        slug=slug,
        name=slug.title(),
        vendor="openai",
        dialect="openai_chat",
        base_url="http://upstream/v1/",
        enabled=True,
        lane_profile=LaneProfile.objects.create(name=slug, preset="openai", **figures),
    )


def make_model(provider: Provider, name: str, **fields: object) -> Model:
    return Model.objects.create(provider=provider, upstream_name=name, public_name=name, **fields)


def issue_token(user: User, **fields: object) -> str:
    token = make_token()
    PersonalToken.objects.create(user=user, name="t", prefix=token.prefix, sha256=token.sha256, **fields)
    return token.sha256


def test_a_provider_its_models_and_its_lanes_are_read() -> None:
    provider = make_provider("codex", burst=2, guard_ms=75)
    make_model(provider, "gpt-5", context_window=1000, capabilities=["tools"])
    configuration = load_configuration()
    assert configuration.models_by_name["gpt-5"].key == "codex/gpt-5"
    assert configuration.providers["codex"].base_url == "http://upstream/v1"
    assert configuration.scheduler is not None
    rules = configuration.scheduler.providers["codex"].models["codex/gpt-5"].rules
    assert (rules.lanes, rules.lanes_per_model, rules.burst, rules.guard_us) == (3, 1, 2, 75_000)
    assert (rules.wait_timeout_us, rules.run_timeout_us) == (60_000_000, 300_000_000)


def test_a_models_override_wins_where_it_has_a_figure_and_only_there() -> None:
    provider = make_provider("codex")
    model = make_model(provider, "gpt-5")
    ModelOverride.objects.create(
        profile=provider.lane_profile, model=model, lanes_per_model=2, charge_rule=ChargeRule.INPUT_ONLY
    )
    scheduler = load_configuration().scheduler
    assert scheduler is not None
    rules = scheduler.providers["codex"].models["codex/gpt-5"].rules
    assert (rules.lanes_per_model, rules.charge_rule) == (2, ChargeRule.INPUT_ONLY)
    assert rules.wait_timeout_us == 60_000_000


def test_a_models_own_windows_stand_in_place_of_the_profiles_model_windows() -> None:
    provider = make_provider("gemini")
    model = make_model(provider, "pro")
    make_model(provider, "flash")
    profile = provider.lane_profile
    override = ModelOverride.objects.create(profile=profile, model=model)
    common = {"profile": profile, "measure": Measure.REQUESTS, "window_s": 60}
    LaneWindow.objects.create(limit=60, scope=Scope.MODEL, **common)
    LaneWindow.objects.create(limit=100, scope=Scope.PROVIDER, **common)
    LaneWindow.objects.create(limit=5, scope=Scope.MODEL, model_override=override, **common)
    scheduler = load_configuration().scheduler
    assert scheduler is not None
    limits = {
        key: sorted(window.limit for window in spec.rules.windows)
        for key, spec in scheduler.providers["gemini"].models.items()
    }
    assert limits == {"gemini/pro": [5, 100], "gemini/flash": [60, 100]}


def test_a_provider_without_a_profile_has_no_rules_rather_than_guessed_ones() -> None:
    Provider.objects.create(slug="bare", name="Bare", vendor="openai", dialect="openai_chat", enabled=False)
    scheduler = load_configuration().scheduler
    assert scheduler is not None
    assert scheduler.providers["bare"].rules is None


def test_only_live_tokens_of_active_people_are_known() -> None:
    team = Team.objects.create(name="team")
    user = User.objects.create_user("ada", team=team)
    gone = User.objects.create_user("gone", is_active=False)
    live = issue_token(user, class_cap="normal", scopes=["chat"])
    issue_token(user, revoked_at=datetime(2026, 1, 1, tzinfo=UTC))
    issue_token(gone)
    service = issue_token(user, team=team)
    callers = load_configuration().callers
    assert set(callers) == {live, service}
    assert (callers[live].flow, callers[live].class_cap) == (f"user:{user.pk}", Class.NORMAL)
    assert callers[live].scopes == {"chat"}
    assert callers[service].flow == f"team:{team.pk}"
    assert f"team:{team.pk}" in callers[live].limits


def test_roles_keep_the_order_of_their_candidates() -> None:
    provider = make_provider("codex")
    first, second = make_model(provider, "a"), make_model(provider, "b")
    role = Role.objects.create(name="fast-chat")
    RoleCandidate.objects.create(role=role, model=first, position=2)
    RoleCandidate.objects.create(role=role, model=second, position=1)
    assert load_configuration().roles["fast-chat"].candidates == ("codex/b", "codex/a")


def test_the_relays_own_limits_have_their_defaults_until_somebody_edits_them() -> None:
    scheduler = load_configuration().scheduler
    assert scheduler is not None
    assert (scheduler.relay.max_running, scheduler.relay.max_inside) == (10, 16)
    RelayLimits(max_running=3, max_inside=5).save()
    edited = load_configuration().scheduler
    assert edited is not None
    assert (edited.relay.max_running, edited.relay.max_inside) == (3, 5)


def test_a_key_is_unsealed_in_memory_and_bound_to_its_model() -> None:
    provider = make_provider("codex")
    model = make_model(provider, "gpt-5")
    row = Credential.objects.create(provider=provider, label="main", key="sk-plain", bound_model=model, quota_group="g")
    configuration = load_configuration()
    assert configuration.providers["codex"].credentials[str(row.pk)].key == "sk-plain"
    assert "sk-plain" not in repr(configuration)
    assert configuration.scheduler is not None
    spec = configuration.scheduler.providers["codex"].credentials[0]
    assert (spec.model, spec.quota_group) == ("codex/gpt-5", "g")


def test_the_number_of_queries_does_not_grow_with_the_number_of_rows() -> None:
    def queries() -> int:
        with CaptureQueriesContext(
            connection,
        ) as seen:
            load_configuration()
        return len(seen)

    make_model(make_provider("one"), "m1")
    before = queries()
    for number in range(5):
        provider = make_provider(f"p{number}")
        Credential.objects.create(provider=provider, label="k", key="x")
        make_model(provider, f"x{number}")
        issue_token(User.objects.create_user(f"u{number}"))
    assert queries() <= before + 1  # the profiles' windows are asked for once there are any
