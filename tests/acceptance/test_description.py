"""The published description: complete, without a warning, and true."""

from __future__ import annotations

import io
import json
from typing import Any

import msgspec
import pytest
from django.core.management import call_command

from relay_project.api.schema import ChatRequestSerializer
from relay_project.api.validation import FIELDS, check_chat
from relay_project.catalogue import CATALOGUE
from relay_project.errors import InvalidRequest
from relay_project.problems import Problem
from relay_project.rendering import Hearer, error_body
from tests.acceptance.described import complaints, validator
from tests.acceptance.served import ServedRelay
from tests.acceptance.wire import send

MESSAGES = [{"role": "user", "content": "hi"}]
NOT_OF_CHAT = {"not_found", "method_not_allowed"}


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    """Fails on any warning."""
    out = io.StringIO()
    call_command("spectacular", "--validate", "--fail-on-warn", "--format", "openapi-json", stdout=out)
    described: dict[str, Any] = json.loads(out.getvalue())
    return described


def test_every_address_of_the_api_is_in_it(document: dict[str, Any]) -> None:
    paths = set(document["paths"])
    assert {"/v1/chat/completions", "/v1/models", "/v1/models/{name}", "/api/queue"} <= paths
    assert all(operation.get("operationId") for path in document["paths"].values() for operation in path.values())


def test_every_operation_takes_a_personal_token_that_is_described(document: dict[str, Any]) -> None:
    schemes = document["components"]["securitySchemes"]
    assert schemes["personalToken"]["scheme"] == "bearer"
    assert schemes["personalTokenHeader"]["name"] == "x-api-key"
    for path in ("/v1/chat/completions", "/v1/models", "/v1/models/{name}", "/api/queue"):
        for operation in document["paths"][path].values():
            assert {"personalToken": []} in operation["security"]
            assert {"personalTokenHeader": []} in operation["security"]


def test_every_code_stands_at_its_status(document: dict[str, Any]) -> None:
    responses = document["paths"]["/v1/chat/completions"]["post"]["responses"]
    told = {(int(status), code) for status, answer in responses.items() for code in _codes(answer["description"])}
    assert told == {(entry.status, code) for code, entry in CATALOGUE.items() if code not in NOT_OF_CHAT}


def _codes(description: str) -> list[str]:
    return [code.strip("`") for code in description.split(", ") if code]


def test_a_429_is_described_with_both_times(document: dict[str, Any]) -> None:
    answer = document["paths"]["/v1/chat/completions"]["post"]["responses"]["429"]
    assert {"Retry-After", "retry-after-ms", "x-should-retry"} <= set(answer["headers"])


@pytest.mark.parametrize("code", sorted(CATALOGUE))
def test_every_error_is_as_described(document: dict[str, Any], code: str) -> None:
    body = error_body(Problem(code, retry_after_s=1.5, estimate=True), Hearer(request_id="req_1"))
    assert complaints(validator(document, "Error"), msgspec.json.decode(msgspec.json.encode(body))) == []


def test_every_field_that_is_checked_is_described() -> None:
    assert set(FIELDS) | {"model", "messages"} == set(ChatRequestSerializer().fields)


WRONG: list[tuple[str, Any]] = [
    *(("model", value) for value in (None, 5)),
    *(("messages", value) for value in (None, [], "hi", ["hi"], [{"role": "robot", "content": "x"}])),
    *(("max_tokens", value) for value in (0, -1, "5", 1.5)),
    *(("n", value) for value in (0, 129)),
    *(("temperature", value) for value in (-0.1, 2.1, "hot")),
    *(("top_logprobs", value) for value in (-1, 21)),
    *(("stream", value) for value in ("yes", 1)),
    *((name, 5) for name in ("tools", "functions", "response_format", "logit_bias", "metadata", "user")),
    ("seed", "x"),
]


@pytest.mark.parametrize(("name", "value"), WRONG)
def test_what_is_refused_does_not_fit_the_description(document: dict[str, Any], name: str, value: Any) -> None:
    fields = {"model": "m", "messages": MESSAGES, name: value}
    with pytest.raises(InvalidRequest):
        check_chat(fields)
    assert complaints(validator(document, "ChatRequest"), fields)


@pytest.mark.parametrize("name", sorted(FIELDS))
def test_null_and_unknown_members_fit_it(document: dict[str, Any], name: str) -> None:
    fields = {"model": "m", "messages": MESSAGES, name: None, "x_unknown": {"a": 1}}
    check_chat(fields)
    assert complaints(validator(document, "ChatRequest"), fields) == []


@pytest.mark.served
def test_what_a_running_relay_publishes_is_true_of_its_answers(relay: ServedRelay) -> None:
    token = {"Authorization": f"Bearer {relay.token}"}
    document = json.loads(send(relay, "GET", "/api/schema?format=json").body)
    chat = json.dumps({"model": "sim-small", "messages": MESSAGES}).encode()
    answers = {
        "ModelList": send(relay, "GET", "/v1/models", headers=token),
        "Model": send(relay, "GET", "/v1/models/fast-chat", headers=token),
        "QueuePicture": send(relay, "GET", "/api/queue", headers=token),
        "ChatCompletion": send(relay, "POST", "/v1/chat/completions", chat, token),
        "Error": send(relay, "POST", "/v1/chat/completions", chat),
    }
    for component, answer in answers.items():
        assert complaints(validator(document, component), json.loads(answer.body)) == [], component
    described = document["paths"]["/v1/chat/completions"]["post"]["responses"]["200"]["headers"]
    assert set(described) <= set(answers["ChatCompletion"].headers)
