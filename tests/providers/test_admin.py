"""Models in the admin: capabilities as boxes, prices in dollars."""

from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from providers.models import Model, Provider

pytestmark = [pytest.mark.django_db, pytest.mark.urls("tests.relay_project.admin_urls")]
ADD = "/admin/providers/model/add/"


@pytest.fixture
def admin(client: Client) -> Client:
    client.force_login(User.objects.create(username="root", is_staff=True, is_superuser=True))
    return client


@pytest.fixture
def form() -> dict[str, Any]:
    provider = Provider.objects.create(slug="p", name="P", vendor="openai", dialect="openai_chat")
    return {"provider": provider.pk, "upstream_name": "gpt", "enabled": "on", "split_advice": ""}


def test_prices_are_typed_per_million_tokens_and_capabilities_ticked(admin: Client, form: dict[str, Any]) -> None:
    prices = {"input_microusd_per_mtok": "0.15", "output_microusd_per_mtok": "0.6"}
    assert admin.post(ADD, form | prices | {"capabilities": ["vision", "tools"]}).status_code == 302
    model = Model.objects.get()
    assert (model.input_microusd_per_mtok, model.output_microusd_per_mtok) == (150_000, 600_000)
    assert model.cached_input_microusd_per_mtok is None
    assert model.capabilities == ["vision", "tools"]
    assert model.public_name == "gpt"


def test_a_model_without_capabilities_is_fine(admin: Client, form: dict[str, Any]) -> None:
    assert admin.post(ADD, form).status_code == 302
    assert Model.objects.get().capabilities == []


@pytest.mark.parametrize(
    ("fields", "wrong"),
    [
        ({"upstream_name": ""}, {"upstream_name"}),
        ({"capabilities": ["magic"]}, {"capabilities"}),
        ({"input_microusd_per_mtok": "-1"}, {"input_microusd_per_mtok"}),
        ({"input_microusd_per_mtok": "cheap"}, {"input_microusd_per_mtok"}),
        ({"context_window": 0}, {"context_window"}),
    ],
)
def test_bad_input_is_named_by_field(
    fields: dict[str, Any], wrong: set[str], admin: Client, form: dict[str, Any]
) -> None:
    answer = admin.post(ADD, form | fields)
    assert set(answer.context["adminform"].form.errors) == wrong


def test_a_public_name_that_is_taken_is_named_even_when_it_was_left_empty(admin: Client, form: dict[str, Any]) -> None:
    other = Provider.objects.create(slug="o", name="O", vendor="openai", dialect="openai_chat")
    Model.objects.create(provider=other, upstream_name="gpt")
    answer = admin.post(ADD, form)
    assert set(answer.context["adminform"].form.errors) == {"public_name"}
