"""How AWS Bedrock says no (provider-facts §21): the exception's name in a header, in the body or in a
frame.
"""

from __future__ import annotations

from providers.contract import RefusalKind as K
from providers.contract import RefusalScope as S
from providers.reading.rows import Row, Table

BEDROCK = Table(
    "bedrock",
    rows=(
        Row(K.RATE_LIMITED, codes=("throttlingexception",)),
        Row(K.RATE_LIMITED, S.ACCOUNT, codes=("servicequotaexceededexception",)),
        Row(K.OVERLOADED, codes=("serviceunavailableexception", "modelnotreadyexception")),
        Row(K.TIMEOUT, codes=("modeltimeoutexception",)),
        Row(K.AUTH, codes=("accessdeniedexception", "unrecognizedclientexception", "expiredtokenexception")),
        Row(K.NOT_FOUND, codes=("resourcenotfoundexception",)),
        Row(
            K.CONTEXT_LENGTH,
            codes=("validationexception",),
            words=r"(?:input|prompt) is too long|too many input tokens|context length|maximum .{0,20}tokens",
        ),
        Row(K.BAD_REQUEST, codes=("validationexception",)),
        Row(
            K.SERVER_ERROR,
            codes=("internalserverexception", "modelerrorexception", "modelstreamerrorexception"),
        ),
    ),
    code_headers=("x-amzn-errortype",),
)
