"""Lane profiles, windows, overrides, roles and quota states: what the rows hold and refuse."""

from datetime import timedelta

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils import timezone

from providers.models import Model, Provider
from scheduling import choices
from scheduling.core import spec
from scheduling.models import LaneProfile, LaneWindow, ModelOverride, QuotaState, RelayLimits, Role, RoleCandidate

pytestmark = pytest.mark.django_db


def make_profile(name: str = "x", **figures: object) -> LaneProfile:
    required = {"lanes": 4, "wait_timeout_s": 60, "run_timeout_s": 180}
    return LaneProfile(name=name, preset="custom", **(required | figures))


def make_model(profile: LaneProfile | None = None, slug: str = "p") -> Model:
    provider = Provider.objects.create(
        slug=slug, name=slug, vendor="openai", dialect="openai_chat", lane_profile=profile
    )
    return Model.objects.create(provider=provider, upstream_name="m", public_name=f"{slug}-m")


def wrong_fields(row: object) -> set[str]:
    with pytest.raises(ValidationError) as refused:
        row.full_clean()
    return set(refused.value.message_dict)


def test_lanes_wait_and_run_have_no_silent_default() -> None:
    assert wrong_fields(LaneProfile(name="x", preset="custom")) == {"lanes", "wait_timeout_s", "run_timeout_s"}
    with pytest.raises(IntegrityError), transaction.atomic():
        LaneProfile(name="x", preset="custom", lanes=1).save()


@pytest.mark.parametrize(
    ("figures", "field"),
    [
        ({"lanes": 0}, "lanes"),
        ({"lanes_per_model": 5}, "lanes_per_model"),
        ({"burst": 0}, "burst"),
        ({"on_disconnect": "drain"}, "drain_s"),
        ({"answer_cap_streams": True}, "answer_cap_streams"),
        ({"charge_rule": "guess"}, "charge_rule"),
    ],
)
def test_a_profile_that_makes_no_sense_is_refused_by_field(figures: dict[str, object], field: str) -> None:
    assert field in wrong_fields(make_profile(**figures))


@pytest.mark.parametrize(
    ("members", "field"),
    [
        ({"limit": 0}, "limit"),
        ({"window_s": None}, "window_s"),
        ({"slice_s": 60}, "slice_s"),
        ({"kind": "calendar", "zone": "UTC"}, "period"),
        ({"kind": "calendar", "period": "day", "zone": "Mars/Base"}, "zone"),
    ],
)
def test_a_window_that_makes_no_sense_is_refused_by_field(members: dict[str, object], field: str) -> None:
    profile = make_profile()
    profile.save()
    window = LaneWindow(**({"profile": profile, "measure": "requests", "limit": 10} | members))
    assert field in wrong_fields(window)


def test_a_window_reads_as_a_person_says_it() -> None:
    profile = make_profile()
    assert str(LaneWindow(profile=profile, measure="requests", limit=60)) == "60 requests / minute"
    assert str(LaneWindow(profile=profile, measure="total_tokens", limit=30_000, window_s=90)) == "30,000 tokens / 90 s"
    day = LaneWindow(profile=profile, measure="requests", limit=250, kind="calendar", period="day", zone="UTC")
    assert str(day) == "250 requests / day"


def test_an_override_is_for_a_model_of_its_profiles_provider() -> None:
    profile, other = make_profile(), make_profile("y")
    profile.save()
    other.save()
    assert wrong_fields(ModelOverride(profile=profile, model=make_model(other))) == {"model"}
    ModelOverride(profile=profile, model=make_model(profile, "q"), lanes_per_model=4).full_clean()


def test_an_override_may_not_have_more_lanes_than_the_provider() -> None:
    profile = make_profile()
    profile.save()
    override = ModelOverride(profile=profile, model=make_model(profile), lanes_per_model=5)
    assert wrong_fields(override) == {"lanes_per_model"}


def test_an_override_can_set_every_figure_that_a_model_can_have_of_its_own() -> None:
    of_the_provider = {"lanes", "max_waiting"}
    about_the_row = {"id", "name", "preset", "note"}
    figures = {field.name for field in LaneProfile._meta.fields} - of_the_provider - about_the_row
    assert set(ModelOverride.FIGURES) == figures
    assert all(ModelOverride._meta.get_field(name).null for name in figures)


def test_there_is_one_row_of_relay_limits() -> None:
    assert (RelayLimits.current().max_running, RelayLimits.current().max_inside) == (10, 16)
    RelayLimits(max_running=3, max_inside=5).save()
    RelayLimits(max_running=4, max_inside=5).save()
    assert RelayLimits.objects.count() == 1
    assert RelayLimits.current().max_running == 4
    assert wrong_fields(RelayLimits(pk=1, max_running=5, max_inside=4)) >= {"max_inside"}


@pytest.mark.parametrize("name", ["Fast Chat", "", "-x", "빠른"])
def test_a_role_name_is_a_simple_word(name: str) -> None:
    assert wrong_fields(Role(name=name)) == {"name"}


def test_a_model_is_a_candidate_once_and_candidates_keep_their_order() -> None:
    role = Role.objects.create(name="fast-chat")
    first, second = make_model(slug="a"), make_model(slug="b")
    RoleCandidate.objects.create(role=role, model=first, position=2)
    RoleCandidate.objects.create(role=role, model=second, position=1)
    assert [candidate.model for candidate in role.candidates.all()] == [second, first]
    with pytest.raises(IntegrityError), transaction.atomic():
        RoleCandidate.objects.create(role=role, model=first)


def test_the_strategy_by_budget_asks_for_its_share() -> None:
    assert wrong_fields(Role(name="x", strategy="cheapest_above")) == {"cheapest_above_percent"}


def test_a_quota_state_is_closed_until_its_time_or_until_it_is_cleared() -> None:
    now = timezone.now()
    state = QuotaState(scope="model", reason="exhausted", until=now + timedelta(hours=1))
    assert state.is_closed
    state.cleared_at = now
    assert not state.is_closed
    assert not QuotaState(scope="model", reason="exhausted", until=now - timedelta(seconds=1)).is_closed


@pytest.mark.parametrize(
    ("labels", "members"),
    [
        (choices.CHARGE_RULES, spec.ChargeRule),
        (choices.FAIRNESS, spec.FairBy),
        (choices.BRIEF_REFUSALS, spec.OnBriefRefusal),
        (choices.DISCONNECTS, spec.OnDisconnect),
        (choices.MEASURES, spec.Measure),
        (choices.WINDOW_KINDS, spec.WindowKind),
        (choices.WINDOW_SCOPES, spec.Scope),
        (choices.WINDOW_MODES, spec.WindowMode),
    ],
)
def test_every_member_of_a_closed_set_has_words(labels: dict[object, str], members: type) -> None:
    assert set(labels) == set(members)
