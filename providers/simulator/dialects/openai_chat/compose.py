"""The answer to a chat, before any framing: words that echo and count, or the call of a tool."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import cycle, islice
from typing import Any

from providers.simulator.dialects.openai_chat.example import example_of
from providers.simulator.dialects.openai_chat.read import Chat, Tool
from providers.simulator.directives import Behaviour
from providers.simulator.plan import encode_json

WORD = re.compile(r"\s*\S+")  # a token: a word with the space before it
LOGPROB = -0.25


@dataclass(frozen=True, slots=True)
class ToolCall:
    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Choice:
    index: int
    tokens: tuple[str, ...]
    finish_reason: str
    tool_calls: tuple[ToolCall, ...] = ()
    signature: tuple[str, ...] = ()  # pieces of a reasoning signature that came without any text

    @property
    def size(self) -> int:
        """Tokens of words and of tool arguments."""
        return len(self.tokens) + sum(len(tokens_of(call.arguments)) for call in self.tool_calls)


@dataclass(frozen=True, slots=True)
class Answer:
    id: str
    created: int
    model: str
    choices: tuple[Choice, ...]
    usage: dict[str, Any] | None
    top_logprobs: int | None


def tokens_of(text: str) -> tuple[str, ...]:
    return tuple(WORD.findall(text))


def compose(chat: Chat, behaviour: Behaviour, number: int, created_s: int) -> Answer:
    choices = tuple(_choice(chat, behaviour, number, index) for index in range(chat.n))
    produced = sum(choice.size for choice in choices)
    return Answer(
        id=f"chatcmpl-sim{number:09d}",
        created=created_s,
        model=chat.model,
        choices=choices,
        usage=usage_of(chat.prompt_tokens, produced),
        top_logprobs=chat.top_logprobs,
    )


def usage_of(prompt_tokens: int, completion_tokens: int) -> dict[str, Any]:
    return {
        "prompt_tokens": prompt_tokens,
        "completion_tokens": completion_tokens,
        "total_tokens": prompt_tokens + completion_tokens,
        "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
        "completion_tokens_details": {
            "reasoning_tokens": 0,
            "audio_tokens": 0,
            "accepted_prediction_tokens": 0,
            "rejected_prediction_tokens": 0,
        },
    }


def logprobs_of(tokens: tuple[str, ...], top: int) -> dict[str, Any]:
    """The member `logprobs` for these tokens, with `top` alternatives each."""
    return {
        "content": [{**_logprob(token, 0), "top_logprobs": _top(token, top)} for token in tokens],
        "refusal": None,
    }


def _top(token: str, count: int) -> list[dict[str, Any]]:
    return [_logprob(token if rank == 0 else f"{token}{rank}", rank) for rank in range(count)]


def _logprob(token: str, rank: int) -> dict[str, Any]:
    return {"token": token, "logprob": LOGPROB - rank, "bytes": list(token.encode())}


def _choice(chat: Chat, behaviour: Behaviour, number: int, index: int) -> Choice:
    if chat.tools:
        finish = "stop" if chat.tools[0].forced else "tool_calls"
        return Choice(index, (), finish, tuple(_calls(chat, number, index)))
    text, finish = _until_stop(_words(chat, behaviour, index), chat.stop)
    tokens = tokens_of(text)
    if chat.cap is not None and len(tokens) > chat.cap:
        return Choice(index, tokens[: chat.cap], "length")
    return Choice(index, tokens, finish)


def _calls(chat: Chat, number: int, index: int) -> list[ToolCall]:
    chosen: list[Tool] = list(islice(cycle(chat.tools), chat.tool_calls))
    return [
        ToolCall(f"call_sim{number}_{index}_{place}", tool.name, _arguments(tool, chat, place))
        for place, tool in enumerate(chosen)
    ]


def _arguments(tool: Tool, chat: Chat, place: int) -> str:
    word = chat.code_word or chat.prompt
    return encode_json(example_of(tool.parameters, f"{word} {place}" if chat.tool_calls > 1 else word)).decode()


def _words(chat: Chat, behaviour: Behaviour, index: int) -> str:
    if chat.schema is not None:
        return encode_json(example_of(chat.schema, chat.prompt)).decode()
    if behaviour.text is not None:
        return behaviour.text
    words = _echo(chat, index)
    if behaviour.answer_tokens is None:
        return " ".join(words)
    # The code word first, so that no answer is too short to carry it.
    leading = [chat.code_word] if chat.code_word else []
    return " ".join(islice(cycle([*leading, *words]), behaviour.answer_tokens))


def _echo(chat: Chat, index: int) -> list[str]:
    """`3 words: say CODE-7 please`, the pictures that came, and which choice it is if there are several."""
    words = chat.prompt.split()
    numbered = [f"choice {index}:"] if chat.n > 1 else []
    pictures = [f"{len(chat.images)} images: {', '.join(chat.images)}"] if chat.images else []
    return " ".join([*numbered, f"{len(words)} words:", *words, *pictures]).split()


def _until_stop(text: str, stop: tuple[str, ...]) -> tuple[str, str]:
    places = [place for word in stop if (place := text.find(word)) >= 0]
    return (text[: min(places)] if places else text), "stop"
