"""OpenAI's chat completions and model list, as a simulator's dialect."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from providers.simulator.dialects.dialect import Call, Catalogue, Stamp
from providers.simulator.dialects.openai_chat.chunks import completion_of, events_of
from providers.simulator.dialects.openai_chat.compose import Answer, compose
from providers.simulator.dialects.openai_chat.errors import (
    BadRequest,
    no_such_model,
    no_such_url,
    wrong_key,
)
from providers.simulator.dialects.openai_chat.read import Chat, read_chat
from providers.simulator.dialects.openai_chat.twists import PLAIN, TWISTS, Twist
from providers.simulator.directives import Behaviour
from providers.simulator.plan import Data, Head, Headers, Plan, Reply, Step, Wait, json_reply
from providers.simulator.request import Request

CHAT_PATH = "/v1/chat/completions"
MODELS_PATH = "/v1/models"
MODELS_CREATED_S = 1_760_000_000
STREAM_HEADERS: Headers = (
    ("content-type", "text/event-stream; charset=utf-8"),
    ("cache-control", "no-cache"),
)


class OpenAIChat:
    name = "openai"
    faults: Mapping[str, str] = {name: twist.says for name, twist in TWISTS.items()}

    def model_of(self, request: Request) -> str:
        model = request.fields.get("model")
        if isinstance(model, str):
            return model
        return request.path.removeprefix(f"{MODELS_PATH}/") if request.path.startswith(f"{MODELS_PATH}/") else ""

    def read(self, request: Request, model: str, behaviour: Behaviour, catalogue: Catalogue) -> Call | Reply:
        try:
            return self._read(request, model, behaviour, catalogue)
        except BadRequest as refusal:
            return refusal.reply

    def wrong_key(self, key: str | None) -> Reply:
        return wrong_key(key)

    def misdirected(self, text: str) -> Reply:
        return BadRequest(f"Simulator: {text}", "fault", "simulator_directive").reply

    def _read(self, request: Request, model: str, behaviour: Behaviour, catalogue: Catalogue) -> Call:
        if (request.method, request.path) == ("POST", CHAT_PATH):
            chat = read_chat(request, behaviour)
            if not catalogue.serves(model):
                raise no_such_model(model)
            return _chat_call(chat, behaviour)
        if request.method == "GET" and request.path == MODELS_PATH:
            listed = {"object": "list", "data": [_card(name) for name in catalogue.names]}
            return _lookup(listed, behaviour)
        if request.method == "GET" and request.path.startswith(f"{MODELS_PATH}/"):
            if not catalogue.serves(model):
                raise no_such_model(model)
            return _lookup(_card(self.model_of(request)), behaviour)
        raise no_such_url(request.method, request.path)


def _card(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": MODELS_CREATED_S, "owned_by": "simulator"}


def _lookup(document: dict[str, Any], behaviour: Behaviour) -> Call:
    def answer(stamp: Stamp) -> Plan:
        return (
            Wait(behaviour.first_token_s(stamp.number)),
            *json_reply(200, document, *stamp.headers).plan(),
        )

    return Call(answer)


def _chat_call(chat: Chat, behaviour: Behaviour) -> Call:
    twist = TWISTS.get(behaviour.fault.name, PLAIN)
    chat = twist.chat(chat, behaviour.fault)
    speaking = _Speaking(chat, behaviour, twist)
    return Call(
        answer=speaking.plan,
        counted=True,
        stream=chat.stream,
        prompt_tokens=chat.prompt_tokens,
        cap_tokens=chat.cap_tokens,
        code_word=chat.code_word,
    )


@dataclass(frozen=True, slots=True)
class _Speaking:
    """A chat and the way it is to be answered → the plan."""

    chat: Chat
    behaviour: Behaviour
    twist: Twist

    def plan(self, stamp: Stamp) -> Plan:
        answer = compose(self.chat, self.behaviour, stamp.number, stamp.created_s)
        answer = self.twist.answer(answer, self.behaviour.fault)
        return self._streamed(answer, stamp) if self.chat.stream else self._whole(answer, stamp)

    def _whole(self, answer: Answer, stamp: Stamp) -> Plan:
        completion = self.twist.completion(completion_of(answer), self.behaviour.fault)
        tokens = sum(choice.size for choice in answer.choices)
        seconds = self.behaviour.first_token_s(stamp.number) + self.behaviour.generation_s(max(0, tokens - 1))
        return (Wait(seconds), *json_reply(200, completion, *stamp.headers).plan(tokens))

    def _streamed(self, answer: Answer, stamp: Stamp) -> Plan:
        events = self.twist.events(events_of(answer, include_usage=self.chat.include_usage), self.behaviour.fault)
        steps: list[Step] = [Wait(self.behaviour.first_token_s(stamp.number))]
        steps.append(Head(200, (*STREAM_HEADERS, *stamp.headers)))
        produced = 0
        for event in events:
            if event.tokens and produced:  # the first token comes at its own time
                steps.append(Wait(self.behaviour.generation_s(event.tokens)))
            steps.append(Data(event.encode(), event.tokens))
            produced += event.tokens
        return tuple(steps)
