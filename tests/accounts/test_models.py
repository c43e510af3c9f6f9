"""People, tokens and usage rows in the database."""

from datetime import timedelta

import pytest
from django.contrib.auth import get_user_model
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils import timezone

from accounts.models import PersonalToken, Team, UsageRow, User
from accounts.tokens import hash_token, make_token

pytestmark = pytest.mark.django_db


def make_row(user: User, **fields: object) -> PersonalToken:
    new = make_token()
    return PersonalToken.objects.create(user=user, name="laptop", prefix=new.prefix, sha256=new.sha256, **fields)


def test_the_custom_user_is_the_one_django_uses() -> None:
    assert get_user_model() is User


def test_a_token_is_46_characters_and_only_prefix_and_hash_are_kept() -> None:
    new = make_token()
    row = PersonalToken.objects.create(
        user=User.objects.create(username="u"), name="x", prefix=new.prefix, sha256=new.sha256
    )
    assert len(new.plain) == 46
    assert new.plain.startswith("rk-")
    assert row.prefix == new.plain[:11]
    assert row.sha256 == hash_token(new.plain)
    kept = str(PersonalToken.objects.values().get())
    assert new.plain not in kept
    assert new.plain not in repr(new)


def test_a_token_text_that_is_no_utf8_still_has_a_hash() -> None:
    assert len(hash_token("\udcff")) == 64


def test_two_tokens_are_never_alike() -> None:
    assert len({make_token().plain for _ in range(100)}) == 100


def test_a_revoked_or_expired_token_is_not_live() -> None:
    user = User.objects.create(username="u")
    now = timezone.now()
    assert make_row(user).is_live
    assert make_row(user, expires_at=now + timedelta(hours=1)).is_live
    assert not make_row(user, expires_at=now - timedelta(seconds=1)).is_live
    assert not make_row(user, revoked_at=now).is_live


@pytest.mark.parametrize("scopes", [["chat", "root"], "chat", {"chat": 1}])
def test_scopes_outside_the_closed_set_are_named_as_wrong(scopes: object) -> None:
    row = make_row(User.objects.create(username="u"))
    row.scopes = scopes
    with pytest.raises(ValidationError) as refused:
        row.full_clean()
    assert set(refused.value.message_dict) == {"scopes"}


def test_limits_of_zero_are_refused_by_field() -> None:
    team = Team(name="t", max_concurrent=0, rpm=0, tpm=0, weight=0)
    with pytest.raises(ValidationError) as refused:
        team.full_clean()
    assert set(refused.value.message_dict) == {"max_concurrent", "rpm", "tpm", "weight"}


def test_a_usage_row_outlives_its_user_token_and_team() -> None:
    team = Team.objects.create(name="t")
    user = User.objects.create(username="u", team=team)
    row = UsageRow.objects.create(
        request_id="r1", user=user, token=make_row(user), team=team, outcome="completed", model="m"
    )
    user.delete()
    team.delete()
    row.refresh_from_db()
    assert (row.user, row.token, row.team, row.model) == (None, None, None, "m")


def test_one_request_has_one_usage_row() -> None:
    UsageRow.objects.create(request_id="r1", outcome="completed")
    with pytest.raises(IntegrityError), transaction.atomic():
        UsageRow.objects.create(request_id="r1", outcome="completed")
