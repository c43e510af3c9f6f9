"""OpenAI's chat completions dialect: the only file of this adapter that waits."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime
from functools import partial

from providers.adapters.openai_chat.capabilities import CHAT_PATH, MODELS_PATH, PASSED_HEADERS
from providers.adapters.openai_chat.decode import ChatBodyReader, ChatStreamReader, decode_model_ids
from providers.adapters.openai_chat.encode import encode_chat, encode_headers
from providers.contract import (
    Answer,
    AnswerReader,
    ChatRequest,
    Deadlines,
    Refusal,
    RefusalKind,
    Target,
    UpstreamFault,
)
from providers.reading.redaction import without_key
from providers.refusals import ProviderAnswer, read_refusal
from providers.transport import Exchange, Transport

ERROR_BODY_LIMIT = 1024 * 1024


class OpenAIChatAdapter:
    dialect = "openai_chat"

    def __init__(self, transport: Transport, wall: Callable[[], datetime]) -> None:
        self._transport = transport
        self._wall = wall  # to read absolute reset times against

    async def chat(self, target: Target, request: ChatRequest, deadlines: Deadlines) -> Answer | Refusal:
        try:
            exchange = await self._transport.post(
                target.base_url + CHAT_PATH,
                headers=encode_headers(target, stream=request.stream),
                body=encode_chat(request, target),
                deadlines=deadlines,
            )
        except UpstreamFault as fault:
            return replace(fault.refusal, safe_to_resend=fault.safe_to_resend)
        if exchange.status != 200 or not _is_of_type(exchange, stream=request.stream):
            return await self._refused(target, exchange)
        return Answer(
            status=200,
            headers=passed_headers(exchange.headers),
            chunks=exchange.chunks(),
            reader=self._reader(target, request, exchange),
            close=exchange.close,
            limits=exchange.headers,
        )

    async def list_models(self, target: Target, deadlines: Deadlines) -> list[str] | Refusal:
        try:
            exchange = await self._transport.get(
                target.base_url + MODELS_PATH,
                headers=encode_headers(target, stream=False),
                deadlines=deadlines,
            )
            if exchange.status != 200:
                return await self._refused(target, exchange)
            return decode_model_ids(await exchange.read_all(ERROR_BODY_LIMIT))
        except UpstreamFault as fault:
            return fault.refusal
        except ValueError as error:
            return Refusal(RefusalKind.SERVER_ERROR, status=200, evidence="model list", message=str(error))

    def _reader(self, target: Target, request: ChatRequest, exchange: Exchange) -> AnswerReader:
        classify = partial(self._classify, target, exchange)
        if request.stream:
            return ChatStreamReader(classify, wants_usage_chunk=request.wants_usage_chunk)
        return ChatBodyReader(classify)

    async def _refused(self, target: Target, exchange: Exchange) -> Refusal:
        try:
            body = await exchange.read_all(ERROR_BODY_LIMIT)
        except UpstreamFault as fault:
            body = fault.refusal.evidence.encode()
        finally:
            exchange.close()
        return self._classify(target, exchange, body)

    def _classify(self, target: Target, exchange: Exchange, body: object) -> Refusal:
        """Read an error; an answer that is neither an error nor usable counts as the provider's fault."""
        answer = ProviderAnswer(target.vendor, exchange.status, dict(exchange.headers), body)
        refusal = read_refusal(answer, self._wall())
        if refusal.kind is not RefusalKind.NONE:
            told = refusal if target.credential is None else without_key(refusal, target.credential.key)
            return replace(told, limits=answer.headers)
        return Refusal(RefusalKind.SERVER_ERROR, status=exchange.status, evidence="no usable answer")


def passed_headers(headers: Mapping[str, str]) -> list[tuple[str, str]]:
    """What the caller may see, less what cannot be said again: a header of ours must be printable ASCII."""
    return [
        (name.lower(), value)
        for name, value in headers.items()
        if name.lower() in PASSED_HEADERS and value.isascii() and value.isprintable()
    ]


def _is_of_type(exchange: Exchange, *, stream: bool) -> bool:
    """A 200 that is an HTML page, or no stream where one was asked for, is no answer."""
    content_type = exchange.headers.get("content-type", "")
    return content_type.startswith("text/event-stream" if stream else "application/json")
