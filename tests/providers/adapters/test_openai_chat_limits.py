"""What the adapter hands over for learning: the headers of answers and refusals, and caps it is told to lower."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import msgspec
import pytest

from providers.adapters.openai_chat.adapter import OpenAIChatAdapter
from providers.adapters.openai_chat.encode import encode_chat
from providers.contract import Answer, ChatRequest, Deadlines, Refusal, Target
from providers.transport import Transport
from tests.providers.loopback import Connection, Loopback, answer

BODY = b'{"choices":[{"message":{"content":"hi"},"finish_reason":"stop"}]}'
LIMITS = ("Content-Type: application/json", "X-RateLimit-Limit-Tokens: 30000")


def request(body: bytes = b'{"model":"m"}', cap_tokens: int | None = None) -> ChatRequest:
    return ChatRequest(body, msgspec.json.decode(body), stream=False, wants_usage_chunk=False, cap_tokens=cap_tokens)


async def asked(transport: Transport, said: bytes) -> Answer | Refusal:
    async def script(connection: Connection) -> None:
        await connection.receive()
        await connection.send(said)

    adapter = OpenAIChatAdapter(transport, lambda: datetime(2026, 11, 30, tzinfo=UTC))
    async with Loopback(script) as server:
        target = Target("p", "openai", server.url, "m", None)
        outcome = await adapter.chat(target, request(), Deadlines(first_byte_s=60, idle_s=60))
        if isinstance(outcome, Answer):
            outcome.close()
        return outcome


async def test_an_answers_headers_are_at_hand_but_do_not_pass_on(transport: Transport) -> None:
    outcome = await asked(transport, answer(BODY, headers=LIMITS))
    assert isinstance(outcome, Answer)
    assert outcome.limits["x-ratelimit-limit-tokens"] == "30000"
    assert "x-ratelimit-limit-tokens" not in dict(outcome.headers)


async def test_a_refusal_brings_its_headers(transport: Transport) -> None:
    outcome = await asked(transport, answer(b'{"error":{"message":"no"}}', status="429 Too Many", headers=LIMITS))
    assert isinstance(outcome, Refusal)
    lowered = {name.lower(): value for name, value in outcome.limits.items()}
    assert lowered["x-ratelimit-limit-tokens"] == "30000"


@pytest.mark.parametrize(
    ("caps", "sent"),
    [
        ({"max_tokens": 4096}, {"max_tokens": 400}),
        ({"max_completion_tokens": 4096, "max_tokens": 300}, {"max_completion_tokens": 400, "max_tokens": 300}),
        ({"max_output_tokens": 401}, {"max_output_tokens": 400}),
        ({"max_tokens": None}, {"max_tokens": None}),
        ({}, {}),
    ],
)
def test_a_lowered_cap_takes_the_place_of_larger_ones_only(
    caps: dict[str, int | None], sent: dict[str, int | None]
) -> None:
    body = json.dumps({"model": "m", **caps, "x": 1}).encode()
    target = Target("p", "openai", "http://upstream", "m", None)
    assert json.loads(encode_chat(request(body, 400), target)) == {"model": "m", **sent, "x": 1}
    assert json.loads(encode_chat(request(body), target)) == {"model": "m", **caps, "x": 1}
