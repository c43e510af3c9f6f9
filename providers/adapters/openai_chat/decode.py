"""An upstream's chat answer, read from a copy of its bytes while they are relayed as they came.

Two readers with one contract (`AnswerReader`): a stream of events, and a whole body. Both judge the ending by what was
said (a finish reason, `[DONE]`, an error), never by the mere end of the bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from providers.adapters.openai_chat.capabilities import BROKE_OFF, CONTENT_MEMBERS, EMPTY_IS_HONEST
from providers.contract import AnswerFacts, End, Refusal, Usage
from providers.sse import Event, SseSplitter

DONE_EVENT = b"data: [DONE]\n\n"
BLANK_LINE = b"\n\n"
_BOM = b"\xef\xbb\xbf"
Classify = Callable[[object], Refusal]
_decode = msgspec.json.Decoder().decode


class ChatStreamReader:
    """Reads `data: {chat.completion.chunk}` events. Withholds the usage chunk nobody asked for, and error events:
    the relay tells errors itself, once, in the caller's dialect."""

    def __init__(self, classify: Classify, *, wants_usage_chunk: bool) -> None:
        self.facts = AnswerFacts()
        self._classify = classify
        self._wants_usage_chunk = wants_usage_chunk
        self._splitter = SseSplitter()
        self._finished_before_error = False
        self._done_passed = False  # to the caller: its client waits for the terminator

    def feed(self, chunk: bytes) -> bytes:
        return self._pass_on(self._splitter.feed(chunk))

    def close(self) -> bytes:
        left = self._splitter.close()
        rest = b"" if left is None else self._pass_on_unended(left)
        if not self._done_passed and self.end() in (End.COMPLETE, End.RECOVERED):
            self._done_passed = True
            rest += DONE_EVENT
        return rest

    def end(self) -> End:
        return judge_end(self.facts, finished_before_error=self._finished_before_error)

    def _pass_on(self, events: list[Event]) -> bytes:
        if len(events) == 1:
            return events[0].raw if self._read(events[0]) else b""
        return b"".join([event.raw for event in events if self._read(event)])

    def _pass_on_unended(self, event: Event) -> bytes:
        """The last event, without its blank line: ended if only that is missing, else dropped, as every client would.
        Half an event must not run into the error or the terminator that we send behind it."""
        if event.data.strip() != b"[DONE]" and not _object_of(event.data):
            return b""
        return event.raw + BLANK_LINE if self._read(event) else b""

    def _read(self, event: Event) -> bool:
        """Take in one event; say whether it goes on to the caller."""
        if self.facts.error is not None:
            return False
        if not event.data:
            return True  # a comment: keep-alive
        if event.data.strip() == b"[DONE]":
            self.facts.terminal_seen = self._done_passed = True
            return True
        return self._read_object(_object_of(event.data), event)

    def _read_object(self, chunk: Mapping[str, Any], event: Event) -> bool:
        choices = chunk.get("choices")
        if chunk.get("error") or event.name == "error" or _broke_off(choices):
            self._finished_before_error = self.facts.end_was_said
            self.facts.error = self._classify(chunk or event.data)
            return False
        for choice in choices if isinstance(choices, list) else ():
            read_choice(self.facts, choice, "delta")
        return self._read_usage(chunk) or bool(choices) or self._wants_usage_chunk

    def _read_usage(self, chunk: Mapping[str, Any]) -> bool:
        """True if the event is more than the usage chunk."""
        usage = chunk.get("usage") or (chunk.get("x_groq") or {}).get("usage")
        if not isinstance(usage, dict):
            return True
        self.facts.usage = decode_usage(usage)
        return "prompt_filter_results" in chunk


class ChatBodyReader:
    """Reads a whole `chat.completion` body; nothing is passed on before it is complete and judged."""

    def __init__(self, classify: Classify, *, limit_bytes: int = 64 * 1024 * 1024) -> None:
        self.facts = AnswerFacts()
        self._classify = classify
        self._limit_bytes = limit_bytes
        self._body = bytearray()
        self._finished_before_error = False

    def feed(self, chunk: bytes) -> bytes:
        self._body += chunk
        if len(self._body) > self._limit_bytes:
            raise ValueError(f"an answer body of more than {self._limit_bytes} bytes")
        return b""

    def close(self) -> bytes:
        body = bytes(self._body)
        answer = _object_of(body)
        choices = answer.get("choices")
        for choice in choices if isinstance(choices, list) else ():
            read_choice(self.facts, choice, "message")
        if isinstance(answer.get("usage"), dict):
            self.facts.usage = decode_usage(answer["usage"])
        if answer.get("error") or _broke_off(choices) or (body.strip() and not isinstance(choices, list)):
            self._finished_before_error = self.facts.end_was_said
            self.facts.error = self._classify(answer or body)
        else:
            self.facts.terminal_seen = True  # HTTP's framing and JSON's closing brace say that it is whole
        return body

    def end(self) -> End:
        return judge_end(self.facts, finished_before_error=self._finished_before_error)


def judge_end(facts: AnswerFacts, *, finished_before_error: bool) -> End:
    if facts.error is not None:
        return End.RECOVERED if finished_before_error and facts.content_seen else End.ERROR
    if not facts.content_seen and facts.finish_reason not in EMPTY_IS_HONEST:
        return End.EMPTY
    return End.COMPLETE if facts.end_was_said else End.TRUNCATED


def read_choice(facts: AnswerFacts, choice: object, part: str) -> None:
    """`part`: "delta" in a stream, "message" in a body. Some vendors send choices without either."""
    if not isinstance(choice, dict):
        return
    output, index = choice.get(part), _index_of(choice)
    if isinstance(output, dict):
        for member, value in output.items():
            if value and member in CONTENT_MEMBERS:
                facts.content_seen = True
                facts.open_choices.add(index)
                facts.content_chars += len(value) if isinstance(value, str) else _letters(value)
    finish = str(choice.get("finish_reason") or "")
    if finish and finish not in BROKE_OFF:
        facts.finish_reason = finish
        facts.open_choices.discard(index)


def _index_of(choice: Mapping[str, Any]) -> int:
    index = choice.get("index")
    return index if isinstance(index, int) else 0


def _broke_off(choices: object) -> bool:
    """A choice says that it ended in an error, with or without one beside it."""
    each = choices if isinstance(choices, list) else ()
    return any(isinstance(choice, dict) and str(choice.get("finish_reason")) in BROKE_OFF for choice in each)


def decode_usage(usage: Mapping[str, Any]) -> Usage:
    prompt_details = usage.get("prompt_tokens_details")
    completion_details = usage.get("completion_tokens_details")
    return Usage(
        prompt_tokens=_count(usage, "prompt_tokens"),
        completion_tokens=_count(usage, "completion_tokens"),
        cached_prompt_tokens=_first(_count(prompt_details, "cached_tokens"), _count(usage, "prompt_cache_hit_tokens")),
        reasoning_tokens=_count(completion_details, "reasoning_tokens"),
    )


def decode_model_ids(body: bytes) -> list[str]:
    """The ids of `GET /models`; raises ValueError if it is no model list."""
    listed = _object_of(body).get("data")
    if not isinstance(listed, list):
        raise ValueError("no model list")
    return [str(model["id"]) for model in listed if isinstance(model, dict) and model.get("id")]


def _object_of(data: bytes) -> dict[str, Any]:
    """The JSON object in `data`; empty for anything else (garbage is judged by what is missing)."""
    try:
        value = _decode(data.removeprefix(_BOM))
    except (msgspec.DecodeError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _count(members: object, name: str) -> int | None:
    value = members.get(name) if isinstance(members, dict) else None
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def _first(*values: int | None) -> int | None:
    return next((value for value in values if value is not None), None)


def _letters(value: object) -> int:
    """How much text is in a member: strings in it, however nested. A stack, not recursion: upstreams nest deeply."""
    letters = 0
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            letters += len(item)
        elif isinstance(item, dict):
            waiting.extend(item.values())
        elif isinstance(item, list):
            waiting.extend(item)
    return letters
