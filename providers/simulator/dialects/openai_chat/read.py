"""A chat request → what an answer to it depends on."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from providers.simulator.dialects.openai_chat.check import check_fields
from providers.simulator.dialects.openai_chat.errors import NOT_JSON, BadRequest, missing, wrong_type
from providers.simulator.dialects.openai_chat.images import describe_images
from providers.simulator.directives import Behaviour
from providers.simulator.request import Request

CODE_WORD = re.compile(r"\bCODE-[A-Za-z0-9_-]+")
IMAGE_TOKENS = 85


@dataclass(frozen=True, slots=True)
class Tool:
    name: str
    parameters: Mapping[str, Any]
    forced: bool  # named by tool_choice: then the finish reason is `stop`


@dataclass(frozen=True, slots=True)
class Chat:
    model: str
    stream: bool
    include_usage: bool
    prompt: str  # the last user message's words (or the last tool's, if that came last)
    images: tuple[str, ...]
    prompt_tokens: int
    cap: int | None  # of one choice
    n: int
    stop: tuple[str, ...]
    top_logprobs: int | None  # None = no logprobs
    tools: tuple[Tool, ...]  # those to call; the first unless parallel calls are asked of a fault
    tool_calls: int
    schema: Mapping[str, Any] | None  # the answer is JSON that fits it

    @property
    def code_word(self) -> str:
        match = CODE_WORD.search(self.prompt)
        return match.group() if match else ""

    @property
    def cap_tokens(self) -> int | None:
        return None if self.cap is None else self.cap * self.n


def read_chat(request: Request, behaviour: Behaviour) -> Chat:
    """Raises BadRequest."""
    fields = _fields(request)
    check_fields(fields, strict=behaviour.strict)
    messages = fields["messages"]
    images = tuple(describe_images(messages))
    tools = _tools_to_call(fields, messages)
    counted = sum(len(_text(message).split()) for message in messages) + IMAGE_TOKENS * len(images)
    return Chat(
        model=fields["model"],
        stream=bool(fields.get("stream")),
        include_usage=bool((fields.get("stream_options") or {}).get("include_usage")),
        prompt=_prompt(messages),
        images=images,
        prompt_tokens=counted if behaviour.prompt_tokens is None else behaviour.prompt_tokens,
        cap=_cap(fields),
        n=fields.get("n") or 1,
        stop=_stop(fields.get("stop")),
        top_logprobs=fields.get("top_logprobs") or 0 if fields.get("logprobs") else None,
        tools=tools,
        tool_calls=1 if tools else 0,
        schema=_schema(fields.get("response_format")),
    )


def _fields(request: Request) -> dict[str, Any]:
    try:
        document = request.document
    except (ValueError, RecursionError) as error:
        raise BadRequest(NOT_JSON) from error
    if not isinstance(document, dict):
        raise BadRequest(NOT_JSON)
    if document.get("model") in {None, ""}:
        raise BadRequest("you must provide a model parameter")
    return document


def _prompt(messages: list[dict[str, Any]]) -> str:
    asked = [message for message in messages if message["role"] in {"user", "tool"}]
    return _text((asked or messages)[-1])


def _text(message: Mapping[str, Any]) -> str:
    content = message.get("content") or ""
    if isinstance(content, str):
        return content
    return " ".join(str(part.get("text", "")) for part in content if part.get("type") == "text")


def _cap(fields: Mapping[str, Any]) -> int | None:
    caps = [fields[name] for name in ("max_tokens", "max_completion_tokens") if fields.get(name) is not None]
    return max(caps) if caps else None


def _stop(stop: Any) -> tuple[str, ...]:
    words = [stop] if isinstance(stop, str) else stop or []
    if len(words) > 4:
        message = "Invalid 'stop': array too long. Expected an array with maximum length 4."
        raise BadRequest(message, "stop", "array_above_max_length")
    if wrong := next((word for word in words if not isinstance(word, str)), None):
        raise wrong_type("stop", "a string", wrong)
    return tuple(filter(None, words))


def _tools_to_call(fields: Mapping[str, Any], messages: list[dict[str, Any]]) -> tuple[Tool, ...]:
    """With `auto` a tool is called once: when its result has come back, the answer is words."""
    choice = fields.get("tool_choice") or "auto"
    offered = _offered(fields.get("tools") or [])
    if choice == "none" or not offered or (choice == "auto" and messages[-1]["role"] == "tool"):
        return ()
    if isinstance(choice, str):
        return tuple(Tool(name, parameters, forced=False) for name, parameters in offered.items())
    name = (choice.get("function") or {}).get("name")
    if name not in offered:
        message = f"no function named '{name}' was specified in the 'tools' parameter."
        raise BadRequest(f"Invalid value for 'tool_choice': {message}", "tool_choice")
    return (Tool(name, offered[name], forced=True),)


def _offered(tools: list[Any]) -> dict[str, Mapping[str, Any]]:
    offered = {}
    for place, tool in enumerate(tools):
        function = tool.get("function") if isinstance(tool, dict) else None
        if not isinstance(function, dict) or not isinstance(function.get("name"), str):
            raise missing(f"tools[{place}].function.name")
        offered[function["name"]] = function.get("parameters") or {}
    return offered


def _schema(response_format: Any) -> Mapping[str, Any] | None:
    kind = (response_format or {}).get("type")
    if kind == "json_object":
        return {"type": "object", "properties": {"words": {"type": "integer"}, "echo": {"type": "string"}}}
    if kind == "json_schema":
        return response_format["json_schema"].get("schema") or {"type": "object"}
    return None
