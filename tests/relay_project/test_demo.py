"""The demo: everything a newcomer needs, made once, its secrets told once."""

import pytest

from accounts.models import PersonalToken, User
from accounts.tokens import hash_token
from providers.models import Provider
from relay_project.checks import check_rows
from relay_project.demo import make_demo
from scheduling.models import Role

pytestmark = pytest.mark.django_db
URL = "http://127.0.0.1:4000/v1"


def test_the_demo_makes_a_provider_with_lanes_three_models_and_two_roles() -> None:
    make_demo(URL)
    provider = Provider.objects.get()
    assert provider.enabled
    assert provider.lane_profile.lanes == 4
    assert set(provider.models.values_list("public_name", flat=True)) == {"sim-small", "sim-large", "sim-slow"}
    chains = {role.name: [str(c) for c in role.candidates.all()] for role in Role.objects.all()}
    assert chains == {"fast-chat": ["sim-small", "sim-large"], "deep-think": ["sim-large", "sim-slow"]}
    assert check_rows(databases=["default"]) == []


def test_secrets_are_random_told_once_and_work() -> None:
    first = make_demo(URL)
    assert first.password
    assert first.token
    assert User.objects.get(username=first.admin_username).check_password(first.password)
    assert PersonalToken.objects.get().sha256 == hash_token(first.token)
    second = make_demo(URL)
    assert (second.password, second.token) == (None, None)
    assert first.token not in repr(first)
    assert first.password not in repr(first)


def test_scripts_may_fix_the_secrets() -> None:
    demo = make_demo(URL, "fixed-password", "rk-fixed-token-for-scripts")
    assert demo.password == "fixed-password"
    token = PersonalToken.objects.get()
    assert (token.prefix, token.sha256) == ("rk-fixed-to", hash_token("rk-fixed-token-for-scripts"))


def test_the_member_is_no_staff_and_cannot_sign_in_by_password() -> None:
    make_demo(URL)
    member = PersonalToken.objects.get().user
    assert not member.is_staff
    assert not member.has_usable_password()


def test_a_second_run_follows_the_simulators_port_and_changes_nothing_else() -> None:
    make_demo(URL)
    profile = Provider.objects.get().lane_profile
    profile.lanes = 7
    profile.save()
    Role.objects.get(name="deep-think").delete()
    make_demo("http://127.0.0.1:5000/v1")
    provider = Provider.objects.get()
    assert provider.base_url == "http://127.0.0.1:5000/v1"
    assert provider.lane_profile.lanes == 7
    assert Role.objects.get(name="deep-think").candidates.count() == 2
