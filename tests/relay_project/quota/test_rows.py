"""Quota states as rows, and who may probe."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from providers.models import Credential
from relay_project.configuration import current_version
from relay_project.quota import rows
from relay_project.quota.states import OpenState
from scheduling.core.spec import Scope
from scheduling.core.tickets import TargetRef
from scheduling.models import QuotaState
from tests.relay_project.test_loading import make_model, make_provider

pytestmark = pytest.mark.django_db

NOW = datetime(2126, 7, 1, tzinfo=UTC)  # a state is open by the database's own clock
MODEL = TargetRef("gemini", Scope.MODEL, "gemini/pro")


@pytest.fixture(autouse=True)
def _provider() -> None:
    provider = make_provider("gemini")
    make_model(provider, "pro")
    Credential.objects.create(provider=provider, label="main", key="k", quota_group="account")


def state(target: TargetRef = MODEL, *, hours: float = 9, reason: str = "exhausted") -> OpenState:
    wall_us = round(NOW.timestamp() * 1e6)
    return OpenState(target, wall_us + round(hours * 3_600_000_000), reason, since_wall_us=wall_us)


def test_a_state_is_kept_and_read_back() -> None:
    rows.keep(state())
    assert [found.target for found in rows.open_states()] == [MODEL]
    QuotaState.objects.update(until=datetime(2020, 1, 1, tzinfo=UTC))
    assert rows.open_states() == []


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        (MODEL, "exhausted"),
        (TargetRef("gemini", Scope.CREDENTIAL, "account"), "billing"),
        (TargetRef("gemini", Scope.PROVIDER), "exhausted"),
    ],
)
def test_every_scope_comes_back_as_the_target_it_was(target: TargetRef, reason: str) -> None:
    rows.keep(state(target, reason=reason))
    assert [found.target for found in rows.open_states()] == [target]


def test_a_bad_key_comes_back_as_that_key() -> None:
    key = TargetRef("gemini", Scope.CREDENTIAL, str(Credential.objects.get().pk))
    rows.keep(state(key, reason="auth"))
    assert [found.target for found in rows.open_states()] == [key]


def test_closing_again_lengthens_the_same_row_and_never_shortens_it() -> None:
    for hours in (9, 1, 12):
        rows.keep(state(hours=hours))
    row = QuotaState.objects.get()
    assert row.until == NOW + timedelta(hours=12)
    assert len(row.history) == 3


def test_clearing_opens_it_and_every_process_sees_a_new_configuration() -> None:
    rows.keep(state())
    before = current_version()
    rows.clear(MODEL, "an answer came through", NOW)
    assert rows.open_states() == []
    assert current_version() > before


def test_of_two_processes_only_one_gets_to_probe_and_the_next_probe_is_later() -> None:
    rows.keep(state(hours=3))
    due = NOW + timedelta(minutes=11)
    assert len(rows.claim_probes(due)) == 1
    assert rows.claim_probes(due) == []
    assert len(rows.claim_probes(due + timedelta(minutes=10))) == 1


def test_account_limits_are_probed_every_ten_minutes_and_longer_ones_hourly() -> None:
    assert rows.next_probe(NOW + timedelta(hours=5), NOW) == NOW + timedelta(minutes=10)
    assert rows.next_probe(NOW + timedelta(days=18), NOW) == NOW + timedelta(hours=1)


def test_a_claim_does_not_count_as_a_change_of_configuration() -> None:
    rows.keep(state())
    before = current_version()
    rows.claim_probes(NOW + timedelta(hours=2))
    assert current_version() == before
