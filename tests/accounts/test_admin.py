"""Tokens shown once, money in dollars, usage to look at only."""

from typing import Any

import pytest
from django.test import Client

from accounts.admin.fields import DollarField
from accounts.models import PersonalToken, Team, UsageRow, User
from accounts.tokens import hash_token
from providers.admin.fields import DollarField as PriceField

pytestmark = [pytest.mark.django_db, pytest.mark.urls("tests.relay_project.admin_urls")]
ADD = "/admin/accounts/personaltoken/add/"
LIST = "/admin/accounts/personaltoken/"


@pytest.fixture
def root() -> User:
    return User.objects.create(username="root", is_staff=True, is_superuser=True)


@pytest.fixture
def admin(client: Client, root: User) -> Client:
    client.force_login(root)
    return client


def typed(owner: User, **fields: Any) -> dict[str, Any]:
    return {"name": "laptop", "user": owner.pk, "scopes": ["chat", "models"], "class_cap": "normal"} | fields


def make_token(admin: Client, user: User) -> tuple[PersonalToken, str]:
    answer = admin.post(ADD, typed(user))
    return PersonalToken.objects.get(), str(answer.context["plain"])


def test_a_new_token_is_shown_once_and_only_its_hash_is_kept(admin: Client, root: User) -> None:
    answer = admin.post(ADD, typed(root))
    row, plain = PersonalToken.objects.get(), answer.context["plain"]
    assert plain in answer.content.decode()
    assert "no-store" in answer.headers["Cache-Control"]
    assert row.sha256 == hash_token(plain)
    assert row.scopes == ["chat", "models"]
    for address in (LIST, f"/admin/accounts/personaltoken/{row.pk}/change/"):
        assert plain not in admin.get(address).content.decode()


def test_changing_a_token_does_not_make_a_new_one(admin: Client, root: User) -> None:
    row, plain = make_token(admin, root)
    answer = admin.post(f"/admin/accounts/personaltoken/{row.pk}/change/", typed(root, name="desktop"))
    row.refresh_from_db()
    assert answer.status_code == 302
    assert (row.name, row.sha256) == ("desktop", hash_token(plain))


@pytest.mark.parametrize(
    ("fields", "wrong"),
    [
        ({"name": ""}, {"name"}),
        ({"user": ""}, {"user"}),
        ({"scopes": []}, {"scopes"}),
        ({"scopes": ["root"]}, {"scopes"}),
        ({"class_cap": "first"}, {"class_cap"}),
        ({"rpm": 0}, {"rpm"}),
    ],
)
def test_bad_input_is_named_by_field(fields: dict[str, Any], wrong: set[str], admin: Client, root: User) -> None:
    answer = admin.post(ADD, typed(root, **fields))
    assert set(answer.context["adminform"].form.errors) == wrong
    assert not PersonalToken.objects.exists()


def test_revoking_from_the_list_and_from_the_page(admin: Client, root: User) -> None:
    row, _ = make_token(admin, root)
    button = f"/admin/accounts/personaltoken/{row.pk}/revoke_this/"
    admin.get(button)
    row.refresh_from_db()
    assert row.is_live
    admin.post(button, {"_form_submitted": "on"})
    row.refresh_from_db()
    assert row.revoked_at is not None
    first = row.revoked_at
    admin.post(LIST, {"action": "revoke", "_selected_action": [row.pk]})
    row.refresh_from_db()
    assert row.revoked_at == first, "a revoked token keeps the time it was revoked"
    assert "✕ revoked" in admin.get(LIST).content.decode()


def test_budgets_are_typed_in_dollars_and_kept_in_microusd(admin: Client) -> None:
    admin.post("/admin/accounts/team/add/", {"name": "t", "weight": 1, "monthly_budget_microusd": "12.5"})
    team = Team.objects.get()
    assert team.monthly_budget_microusd == 12_500_000
    page = admin.get(f"/admin/accounts/team/{team.pk}/change/").content.decode()
    assert 'value="12.5"' in page


@pytest.mark.parametrize("field_class", [DollarField, PriceField])
def test_dollars_become_whole_microusd_exactly(field_class: type) -> None:
    field = field_class()
    assert field.clean("0.000001") == 1
    assert field.clean("0.075") == 75_000
    assert field.clean("") is None
    assert field.prepare_value(75_000) == "0.075"
    assert field.prepare_value(100_000_000) == "100"
    assert not field.has_changed(75_000, "0.0750")
    assert field.has_changed(75_000, "0.08")


def test_a_user_is_added_and_given_limits(admin: Client) -> None:
    form = {"username": "kim", "password1": "quite-long-9", "password2": "quite-long-9", "usable_password": "true"}
    assert admin.post("/admin/accounts/user/add/", form).status_code == 302
    assert User.objects.get(username="kim").check_password("quite-long-9")


def test_usage_rows_are_shown_in_words_and_cannot_be_touched(admin: Client, root: User) -> None:
    row = UsageRow.objects.create(
        request_id="req-1", user=root, role="fast-chat", model="m", outcome="queue_timeout",
        reason="provider_queue_timeout", queue_ms=1500,
    )  # fmt: skip
    address = "/admin/accounts/usagerow/"
    page = admin.get(address, {"q": "req-1"}).content.decode()
    assert "fast-chat → m" in page
    assert "1.5 s" in page
    assert "waited too long" in page
    assert admin.get(f"{address}add/").status_code == 403
    assert admin.post(f"{address}{row.pk}/change/", {"model": "other"}).status_code == 403
    assert admin.post(f"{address}{row.pk}/delete/", {"post": "yes"}).status_code == 403
