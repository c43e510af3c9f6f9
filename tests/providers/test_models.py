"""Providers, keys and models: what the database and the forms hold."""

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from providers.models import Credential, Model, Provider
from scheduling.models import LaneProfile

pytestmark = pytest.mark.django_db


def make_provider(slug: str = "p", **fields: object) -> Provider:
    return Provider.objects.create(slug=slug, name=slug, vendor="openai", dialect="openai_chat", **fields)


def test_the_database_refuses_an_enabled_provider_without_lane_profile() -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        make_provider(enabled=True)
    provider = make_provider()
    with pytest.raises(IntegrityError), transaction.atomic():
        Provider.objects.filter(pk=provider.pk).update(enabled=True)


def test_clean_names_the_lane_profile_field() -> None:
    with pytest.raises(ValidationError) as refused:
        make_provider_unsaved().clean()
    assert set(refused.value.message_dict) == {"lane_profile"}


def make_provider_unsaved() -> Provider:
    return Provider(slug="p", name="p", vendor="openai", dialect="openai_chat", enabled=True)


def test_a_lane_profile_in_use_cannot_be_deleted() -> None:
    profile = LaneProfile.objects.create(name="x", preset="custom", lanes=1, wait_timeout_s=1, run_timeout_s=1)
    make_provider(enabled=True, lane_profile=profile)
    with pytest.raises(IntegrityError):
        profile.delete()


def test_a_model_without_public_name_takes_its_upstream_name() -> None:
    model = Model.objects.create(provider=make_provider("open-router"), upstream_name="meta/llama:free")
    assert model.public_name == "meta/llama:free"
    assert model.key == "open-router/meta/llama:free"


def test_public_names_are_unique_over_the_relay_and_upstream_names_within_a_provider() -> None:
    first, second = make_provider("a"), make_provider("b")
    Model.objects.create(provider=first, upstream_name="m", public_name="m")
    Model.objects.create(provider=second, upstream_name="m", public_name="m-of-b")
    for twin in (
        Model(provider=second, upstream_name="n", public_name="m"),
        Model(provider=first, upstream_name="m", public_name="other"),
    ):
        with pytest.raises(ValidationError):
            twin.full_clean()


def test_unknown_capabilities_are_named_as_wrong() -> None:
    model = Model(provider=make_provider(), upstream_name="m", capabilities=["vision", "magic"])
    with pytest.raises(ValidationError) as refused:
        model.full_clean()
    assert set(refused.value.message_dict) == {"capabilities"}


@pytest.mark.parametrize("url", ["api.openai.com", "ftp://x", "http://", "javascript:alert(1)"])
def test_a_base_url_that_is_no_web_address_is_refused(url: str) -> None:
    provider = make_provider(base_url=url)
    with pytest.raises(ValidationError) as refused:
        provider.full_clean()
    assert set(refused.value.message_dict) == {"base_url"}


def test_a_keys_quota_group_is_its_own_label_unless_named() -> None:
    provider = make_provider()
    assert Credential.objects.create(provider=provider, label="a").quota_group == "a"
    assert Credential.objects.create(provider=provider, label="b", quota_group="team").quota_group == "team"


def test_a_key_is_not_bound_to_another_providers_model() -> None:
    foreign = Model.objects.create(provider=make_provider("other"), upstream_name="m")
    key = Credential(provider=make_provider(), label="a", bound_model=foreign)
    with pytest.raises(ValidationError) as refused:
        key.full_clean(exclude=["key"])
    assert set(refused.value.message_dict) == {"bound_model"}
