"""How servers on one's own machine say no (provider-facts §9, §11, §12). None of them has a rate limit."""

from __future__ import annotations

from providers.adapters.openai_chat.refusals import DIALECT
from providers.contract import RefusalKind as K
from providers.contract import RefusalScope as S
from providers.reading.rows import Row, Table

LM_STUDIO = Table(
    "lm studio",
    parent=DIALECT,
    rows=(
        Row(K.NOT_FOUND, statuses=(400, 404), words=r"no models loaded|model (?:not found|unloaded)"),
        Row(K.CONTEXT_LENGTH, words=r"when (?:the )?context (?:the )?overflows|context length of only"),
        Row(K.SERVER_ERROR, words=r"model has crashed|exit code"),
    ),
)

LLAMA_CPP = Table(
    "llama.cpp",
    parent=DIALECT,
    rows=(
        Row(K.CONCURRENCY, codes=("unavailable_error",), words=r"no slot"),
        Row(K.OVERLOADED, codes=("unavailable_error",)),
    ),
)

VLLM = Table(
    "vllm",
    parent=DIALECT,
    rows=(
        Row(
            K.CONTEXT_LENGTH,
            S.REQUEST,
            statuses=(400,),
            words=r"maximum model length|is longer than the maximum",
        ),
    ),
)
