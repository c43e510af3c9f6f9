"""What a picture says, and to whom."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from rest_framework import serializers

from relay_project.api.queue_rendering import Viewer, model_state, provider_state, relay_state, render_queue
from relay_project.api.queue_schema import QueuePictureSerializer
from scheduling.core.snapshot import ModelView, ProviderView
from tests.relay_project.queue_fakes import (
    FakeConfiguration,
    busy_afternoon,
    model,
    provider,
    snapshot,
    window,
)

NAMES = FakeConfiguration()
MEMBER = Viewer("user:1")
STAFF = Viewer("user:9", staff=True)


def test_a_member_sees_its_own_tickets_and_leases_in_full() -> None:
    picture = render_queue(busy_afternoon("user:1"), NAMES, MEMBER)
    assert [row["id"] for row in picture["tickets"]] == ["t-mine"]
    assert [row["id"] for row in picture["leases"]] == ["l-mine", "l-3"]
    mine = picture["tickets"][0]
    assert (mine["place"], mine["waited_ms"], mine["estimated_start_ms"], mine["reason"]) == (1, 800, 3000, "pace")


def test_others_ids_owners_and_purposes_never_leave() -> None:
    sent = json.dumps(render_queue(busy_afternoon("user:1"), NAMES, MEMBER))
    for secret in ("t-colleague", "t-check", "t-normal", "l-lite", "user:900002", "user:900003", "check"):
        assert secret not in sent


def test_others_are_counted() -> None:
    picture = render_queue(busy_afternoon("user:1"), NAMES, MEMBER)
    pro = picture["providers"][0]["models"][0]
    assert (pro["running"], pro["waiting"]) == (1, 3)
    assert picture["relay"]["waiting_by_class"] == {"interactive": 3, "normal": 1, "batch": 0}


def test_staff_see_every_row_and_whose_it_is() -> None:
    picture = render_queue(busy_afternoon(), NAMES, STAFF)
    assert len(picture["tickets"]) == 4
    assert len(picture["leases"]) == 6
    assert {row["owner"] for row in picture["tickets"]} == {"user:1", "user:900002", "user:900003"}
    assert not any(row["own"] for row in picture["tickets"])


def test_somebody_without_requests_sees_no_rows() -> None:
    picture = render_queue(busy_afternoon(), NAMES, Viewer("user:77"))
    assert (picture["tickets"], picture["leases"]) == ([], [])


@pytest.mark.parametrize(
    ("shown", "word", "reason"),
    [
        (provider("p", model("p/a")), "open", ""),
        (provider("p", model("p/a"), profile_missing=True), "unconfigured", "lane_profile_missing"),
        (provider("p", model("p/a"), paused=True), "paused", "paused"),
        (provider("p", model("p/a", running=4)), "full", "lanes"),
        (provider("p", model("p/a", running=4, waiting=8)), "full", "line"),
        (provider("p", model("p/a", closed_until_ms=5, closed_reason="exhausted")), "closed", "exhausted"),
        (provider("p", model("p/a", paused=True)), "paused", "models_paused"),
        (provider("p", model("p/a", closed_reason="auth"), model("p/b")), "open", ""),
        (provider("p", model("p/a", closed_reason="auth"), model("p/b", paused=True)), "closed", "auth"),
        (provider("p", limit=4), "open", ""),
        (provider("p", model("p/a"), max_waiting=0), "open", ""),
    ],
)
def test_a_provider_has_one_word(shown: ProviderView, word: str, reason: str) -> None:
    state = provider_state(shown)
    assert (state.word, state.reason) == (word, reason)


def test_a_closed_provider_opens_with_its_first_model() -> None:
    late = model("p/a", closed_until_ms=90_000, closed_reason="exhausted")
    soon = model("p/b", closed_until_ms=20_000, closed_reason="rate_limited")
    unknown = model("p/c", closed_reason="billing")
    state = provider_state(provider("p", unknown, late, soon))
    assert (state.reason, state.opens_in_ms) == ("rate_limited", 20_000)


@pytest.mark.parametrize(
    ("shown", "of", "word", "reason"),
    [
        (model("p/a"), {}, "open", ""),
        (model("p/a", running=2), {}, "full", "lanes"),
        (model("p/a", limit=None, running=3), {}, "open", ""),
        (model("p/a", paused=True), {}, "paused", "paused"),
        (model("p/a", closed_until_ms=5, closed_reason="exhausted"), {}, "closed", "exhausted"),
        (model("p/a"), {"limit": 0}, "full", "provider_lanes"),
        (model("p/a"), {"paused": True}, "paused", "paused"),
        (model("p/a"), {"profile_missing": True}, "unconfigured", "lane_profile_missing"),
    ],
)
def test_a_model_has_one_word_and_shares_its_providers_fate(
    shown: ModelView, of: dict[str, object], word: str, reason: str
) -> None:
    state = model_state(shown, provider_state(provider("p", shown, **of)))
    assert (state.word, state.reason) == (word, reason)


@pytest.mark.parametrize(
    ("running", "waiting", "word", "reason"),
    [(9, 0, "open", ""), (10, 0, "full", "lanes"), (10, 6, "full", "line")],
)
def test_the_relay_is_full_by_lanes_before_it_is_full_by_line(
    running: int, waiting: int, word: str, reason: str
) -> None:
    state = relay_state(snapshot(provider("p", model("p/a", running=running, waiting=waiting))))
    assert (state.word, state.reason) == (word, reason)


def test_times_are_told_from_now_and_as_a_moment() -> None:
    shown = snapshot(provider("p", model("p/a", closed_until_ms=60_500, closed_reason="exhausted")))
    picture = render_queue(shown, NAMES, MEMBER)
    state = picture["providers"][0]["state"]
    assert picture["at"] == "2026-09-21T14:13:20.000Z"
    assert (state["opens_in_ms"], state["closed_until"]) == (60_500, "2026-09-21T14:14:20.500Z")


def test_the_next_start_is_the_earliest_of_the_models_that_can_be_called() -> None:
    shown = provider(
        "p",
        model("p/a", next_start_ms=900),
        model("p/b", next_start_ms=400),
        model("p/c", next_start_ms=0, paused=True),
        model("p/d", next_start_ms=0, closed_until_ms=9, closed_reason="exhausted"),
        model("p/e", next_start_ms=None),
    )
    assert render_queue(snapshot(shown), NAMES, MEMBER)["providers"][0]["next_start_ms"] == 400


def test_a_window_shared_by_all_models_is_told_once_at_the_provider() -> None:
    shared = window(4, 40, scope="credential")
    own = window(1, 10)
    shown = provider("p", model("p/a", windows=(shared, own)), model("p/b", windows=(shared,)))
    rendered = render_queue(snapshot(shown), NAMES, MEMBER)["providers"][0]
    assert [w["limit"] for w in rendered["windows"]] == [40]
    assert [[w["limit"] for w in m["windows"]] for m in rendered["models"]] == [[10], []]


def test_names_are_those_people_gave_and_keys_where_there_are_none() -> None:
    named = FakeConfiguration(provider_names={"p": "Our own"}, model_names={"p/a": "writer"})
    rendered = render_queue(snapshot(provider("p", model("p/a"), model("p/org/b"))), named, MEMBER)["providers"][0]
    assert rendered["name"] == "Our own"
    assert [m["name"] for m in rendered["models"]] == ["writer", "org/b"]


def test_the_published_description_names_every_field_that_is_sent_and_no_other() -> None:
    shared = provider("p", model("p/a", windows=(window(1, 2, scope="provider"),)))
    busy = busy_afternoon()
    picture = render_queue(replace(busy, providers=(*busy.providers, shared)), NAMES, STAFF)
    assert _paths_sent(picture) == _paths_described(QueuePictureSerializer())


def _paths_sent(value: object, path: str = "") -> set[str]:
    if isinstance(value, dict):
        return {found for name, member in value.items() for found in _paths_sent(member, f"{path}.{name}")}
    if isinstance(value, list):
        return {found for member in value for found in _paths_sent(member, path)}
    return {path}


def _paths_described(field: serializers.Field, path: str = "") -> set[str]:  # type: ignore[type-arg]
    if isinstance(field, serializers.ListSerializer):
        return _paths_described(field.child, path)
    if isinstance(field, serializers.Serializer):
        children = field.get_fields().items()
        return {found for name, child in children for found in _paths_described(child, f"{path}.{name}")}
    return {path}
