"""Models by the SDK: whatever is in their names."""

from __future__ import annotations

import json
from collections.abc import Iterator
from urllib.parse import quote

import pytest
from openai import NotFoundError, OpenAI

from tests.acceptance.console import Console
from tests.acceptance.faulty import faulty_provider
from tests.acceptance.served import ServedRelay
from tests.acceptance.wire import send

pytestmark = pytest.mark.served

NAMES = (
    "org/family/model",
    "llama3:70b",
    "model@2026-01",
    "a name with spaces",
    "модель/большая",
    "모델",
    "50%2Foff",
    "what?yes#no",
)


@pytest.fixture(scope="module", autouse=True)
def _named(relay: ServedRelay) -> Iterator[None]:
    with Console(relay) as console, faulty_provider(relay, console, "named", {name: f"sim {name}" for name in NAMES}):
        yield


@pytest.fixture
def client(relay: ServedRelay) -> Iterator[OpenAI]:
    with OpenAI(base_url=relay.api_url, api_key=relay.token, max_retries=0) as client:
        yield client


def test_the_list_has_roles_and_models_once_each(client: OpenAI) -> None:
    listed = [model.id for model in client.models.list()]
    assert {"fast-chat", "deep-think", "sim-small", "sim-large", "sim-slow", *NAMES} == set(listed)
    assert len(listed) == len(set(listed))


@pytest.mark.parametrize("name", NAMES)
def test_each_is_found_by_the_sdk_and_answers(client: OpenAI, name: str) -> None:
    found = client.models.retrieve(name)
    assert (found.id, found.owned_by, found.object) == (name, "named", "model")
    assert found.model_extra is not None
    assert found.model_extra["available"] is True
    answer = client.chat.completions.create(model=name, messages=[{"role": "user", "content": "hi"}])
    assert answer.choices[0].message.content == "1 words: hi"


@pytest.mark.parametrize("name", NAMES)
def test_each_is_found_percent_encoded_whole(relay: ServedRelay, name: str) -> None:
    answer = send(relay, "GET", f"/v1/models/{quote(name, safe='')}", headers=_authorized(relay))
    assert (answer.status, _id(answer.body)) == (200, name)


@pytest.mark.parametrize("name", ["org/family/model", "llama3:70b", "model@2026-01"])
def test_each_that_may_stand_in_an_address_is_found_as_it_is(relay: ServedRelay, name: str) -> None:
    answer = send(relay, "GET", f"/v1/models/{name}", headers=_authorized(relay))
    assert (answer.status, _id(answer.body)) == (200, name)


@pytest.mark.parametrize("name", ["nobody", "org/family", "модель"])
def test_an_unknown_one_is_not_found_by_name(client: OpenAI, name: str) -> None:
    with pytest.raises(NotFoundError) as caught:
        client.models.retrieve(name)
    assert (caught.value.code, caught.value.param) == ("model_not_found", "model")
    assert name in caught.value.message


def _authorized(relay: ServedRelay) -> dict[str, str]:
    return {"Authorization": f"Bearer {relay.token}"}


def _id(body: bytes) -> str:
    return str(json.loads(body)["id"])
