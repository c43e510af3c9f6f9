"""The version grows with every change of the configuration, and with nothing else."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone

from accounts.models import PersonalToken, Team, UsageRow, User
from providers.models import Credential, Model, Provider
from relay_project.configuration import WATCHED, bump, configuration_changed, current_version
from relay_project.demo import make_demo
from scheduling.models import LaneProfile, QuotaState, RelayLimits, Role, RoleCandidate
from scheduling.presets import create_profile

pytestmark = pytest.mark.django_db


@pytest.fixture
def demo() -> None:
    make_demo("http://127.0.0.1:1/v1", "a-password", None)


def changes(act: Callable[[], object]) -> bool:
    before = current_version()
    act()
    return current_version() > before


def test_the_version_starts_at_0_and_counts() -> None:
    assert current_version() == 0
    bump()
    bump()
    assert current_version() == 2


@pytest.mark.parametrize("model", [User, PersonalToken, Provider, Model, RelayLimits, LaneProfile, Role, RoleCandidate])
def test_saving_and_deleting_a_configuration_row_is_a_change(model: type, demo: None) -> None:
    row = model.objects.first()
    assert changes(row.save)
    if model is LaneProfile:
        Provider.objects.all().delete()
    assert changes(row.delete)


def test_rows_that_the_demo_lacks_are_watched_too(demo: None) -> None:
    provider = Provider.objects.get()
    assert changes(lambda: Team.objects.create(name="t"))
    assert changes(lambda: Credential.objects.create(provider=provider, label="k", key="x"))
    assert changes(lambda: create_profile("openai", "windows"))
    assert changes(lambda: QuotaState.objects.create(provider=provider, scope="provider", until=timezone.now()))
    assert len(WATCHED) == 13


def test_bookkeeping_is_no_change(demo: None) -> None:
    user, token, provider = User.objects.first(), PersonalToken.objects.get(), Provider.objects.get()
    assert not changes(lambda: user.save(update_fields=["last_login"]))
    assert not changes(lambda: token.save(update_fields=["last_used_at"]))
    assert not changes(lambda: provider.save(update_fields=["last_check_at", "last_check_ms"]))
    assert not changes(lambda: UsageRow.objects.create(request_id="r", outcome="completed"))


def test_revoking_and_pausing_are_changes_though_only_one_field_is_saved(demo: None) -> None:
    token, provider = PersonalToken.objects.get(), Provider.objects.get()
    assert changes(lambda: token.save(update_fields=["revoked_at"]))
    assert changes(lambda: provider.save(update_fields=["paused"]))


def test_a_change_that_is_rolled_back_leaves_the_version() -> None:
    before = current_version()
    with transaction.atomic():
        Team.objects.create(name="t")
        transaction.set_rollback(True)
    assert current_version() == before


def test_what_a_check_writes_down_is_no_change(demo: None) -> None:
    provider = Provider.objects.get()
    fields = ["connection_state", "verified_at", "failed_stage", "failed_reason", "upstream_models"]
    assert not changes(lambda: provider.save(update_fields=fields))


def test_a_change_is_told_in_its_own_process_once_it_is_committed_and_not_before(
    django_capture_on_commit_callbacks: Callable[..., Any],
) -> None:
    told: list[int] = []

    def hear(**_: object) -> None:
        told.append(current_version())

    configuration_changed.connect(hear)
    try:
        with django_capture_on_commit_callbacks(execute=True):
            Team.objects.create(name="t")
            assert told == []
        assert told == [current_version()]
        with django_capture_on_commit_callbacks(execute=True), transaction.atomic():
            Team.objects.create(name="u")
            transaction.set_rollback(True)
        assert len(told) == 1
    finally:
        configuration_changed.disconnect(hear)
