"""What the published description says of `POST /v1/chat/completions`, and of personal tokens.

For the description only: requests are checked by `validation.py`, answers are the provider's own bytes. Both may have
more members than are named here, and a test holds the two to each other.
"""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from drf_spectacular.extensions import OpenApiAuthenticationExtension
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse, extend_schema
from rest_framework import serializers

from relay_project.api.chat_request import CLASSES
from relay_project.api.validation import ROLES
from relay_project.catalogue import CATALOGUE

EVENT_STREAM = "text/event-stream"
STAGES = sorted({entry.stage for entry in CATALOGUE.values()})


TOKEN_SCHEMES = ("personalToken", "personalTokenHeader")
NOT_OF_A_POST = frozenset({"not_found", "method_not_allowed"})


class PersonalTokenScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]  # registers itself
    """Either header will do."""

    target_class = "relay_project.api.authentication.PersonalTokenAuthentication"
    name = list(TOKEN_SCHEMES)

    def get_security_requirement(self, auto_schema: Any) -> list[dict[str, list[str]]]:
        return [{name: []} for name in TOKEN_SCHEMES]

    def get_security_definition(self, auto_schema: Any) -> list[dict[str, str]]:
        return [
            {"type": "http", "scheme": "bearer", "description": "A personal token, `rk-…`."},
            {"type": "apiKey", "in": "header", "name": "x-api-key", "description": "The same in another header."},
        ]


class AwaitedTokenScheme(PersonalTokenScheme):  # type: ignore[no-untyped-call]
    target_class = "relay_project.api.authentication.AwaitedTokenAuthentication"
    name = []  # described once, by the other


class AnyValue(serializers.JSONField):
    """Whatever JSON it is: passed on, and read by the provider alone."""


class ChatMessageSerializer(serializers.Serializer[Any]):
    role = serializers.ChoiceField(sorted(ROLES))
    content = AnyValue(
        required=False,
        allow_null=True,
        help_text="A string, or a list of parts (text, image_url …). Only an assistant's may be left out.",
    )


class StreamOptionsSerializer(serializers.Serializer[Any]):
    include_usage = serializers.BooleanField(required=False, help_text="A last chunk tells the usage.")


class ChatRequestSerializer(serializers.Serializer[Any]):
    """OpenAI's request. Members not named here go on to the provider as they are; null stands for not given."""

    model = serializers.CharField(help_text="A role or a model of GET /v1/models.")
    messages = serializers.ListField(child=ChatMessageSerializer(), min_length=1)
    stream = serializers.BooleanField(required=False, allow_null=True)
    stream_options = StreamOptionsSerializer(required=False, allow_null=True, help_text="Only with stream: true.")
    max_tokens = serializers.IntegerField(required=False, allow_null=True, min_value=1)
    max_completion_tokens = serializers.IntegerField(required=False, allow_null=True, min_value=1)
    n = serializers.IntegerField(required=False, allow_null=True, min_value=1, max_value=128)
    temperature = serializers.FloatField(required=False, allow_null=True, min_value=0, max_value=2)
    top_p = serializers.FloatField(required=False, allow_null=True, min_value=0, max_value=1)
    presence_penalty = serializers.FloatField(required=False, allow_null=True, min_value=-2, max_value=2)
    frequency_penalty = serializers.FloatField(required=False, allow_null=True, min_value=-2, max_value=2)
    logprobs = serializers.BooleanField(required=False, allow_null=True)
    top_logprobs = serializers.IntegerField(required=False, allow_null=True, min_value=0, max_value=20)
    seed = serializers.IntegerField(required=False, allow_null=True)
    stop = AnyValue(required=False, allow_null=True, help_text="A string or a list of strings.")
    tools = serializers.ListField(child=serializers.DictField(), required=False, allow_null=True)
    tool_choice = AnyValue(required=False, allow_null=True, help_text="A string or an object.")
    parallel_tool_calls = serializers.BooleanField(required=False, allow_null=True)
    functions = serializers.ListField(child=serializers.DictField(), required=False, allow_null=True)
    response_format = serializers.DictField(required=False, allow_null=True)
    logit_bias = serializers.DictField(required=False, allow_null=True)
    metadata = serializers.DictField(required=False, allow_null=True)
    user = serializers.CharField(required=False, allow_null=True, allow_blank=True)
    service_tier = serializers.CharField(
        required=False, allow_null=True, allow_blank=True, help_text="`flex` lowers the class to batch."
    )


class ChatChoiceSerializer(serializers.Serializer[Any]):
    index = serializers.IntegerField()
    message = serializers.DictField()
    finish_reason = serializers.CharField(allow_null=True)


class ChatUsageSerializer(serializers.Serializer[Any]):
    prompt_tokens = serializers.IntegerField()
    completion_tokens = serializers.IntegerField()
    total_tokens = serializers.IntegerField()


class ChatCompletionSerializer(serializers.Serializer[Any]):
    """The provider's own bytes: OpenAI's answer, with whatever else the provider says."""

    id = serializers.CharField()
    object = serializers.CharField(help_text="`chat.completion`")
    created = serializers.IntegerField()
    model = serializers.CharField(help_text="As the provider names it.")
    choices = ChatChoiceSerializer(many=True)
    usage = ChatUsageSerializer(required=False, allow_null=True)


class ErrorBodySerializer(serializers.Serializer[Any]):
    """Further members say more where there is more to say (`candidates`, `limit_bytes` …)."""

    message = serializers.CharField(help_text="In the language of Accept-Language: English or Korean.")
    type = serializers.ChoiceField(sorted({entry.type for entry in CATALOGUE.values()}))
    param = serializers.CharField(allow_null=True, help_text="The field or header at fault.")
    code = serializers.ChoiceField(sorted(CATALOGUE))
    stage = serializers.ChoiceField(STAGES)
    provider = serializers.CharField(allow_null=True)
    model = serializers.CharField(allow_null=True)
    retry_after_ms = serializers.IntegerField(allow_null=True, help_text="The same true time as in the headers.")
    request_id = serializers.CharField(allow_null=True)
    estimate = serializers.BooleanField(required=False, help_text="The time is an estimate.")

    def get_fields(self) -> dict[str, serializers.Field]:  # type: ignore[type-arg]
        """`source` is an attribute of every serializer and cannot be written as a field."""
        return super().get_fields() | {"source": serializers.ChoiceField(("relay", "provider"))}


class ErrorSerializer(serializers.Serializer[Any]):
    error = ErrorBodySerializer()


def _header(name: str, words: str, type_: Any = OpenApiTypes.STR, **further: Any) -> OpenApiParameter:
    return OpenApiParameter(name, type_, OpenApiParameter.HEADER, description=words, **further)


def _told(name: str, words: str, *statuses: int, type_: Any = OpenApiTypes.STR) -> OpenApiParameter:
    return _header(name, words, type_, response=list(statuses))


REQUEST_HEADERS = [
    _header("X-Relay-Class", "A lower class than the token's.", enum=list(CLASSES)),
    _header("X-Relay-Max-Wait-Ms", "The longest wait in line, in milliseconds.", OpenApiTypes.INT),
    _header("X-Relay-Queue-Events", "`1`: comments in the stream tell the place in line.", enum=["1"]),
]
ANSWER_HEADERS = [
    _told("x-relay-request-id", "Names the request in the usage and in the log.", 200),
    _told("x-relay-provider", "Who answered.", 200),
    _told("x-relay-model", "Which model answered, by its public name.", 200),
    _told("x-relay-queue-ms", "Time in line.", 200, type_=OpenApiTypes.INT),
    _told("x-relay-attempts", "How many attempts it took.", 200, type_=OpenApiTypes.INT),
    _told("Retry-After", "Whole seconds, rounded up.", 429, type_=OpenApiTypes.INT),
    _told("retry-after-ms", "The same time in milliseconds.", 429, type_=OpenApiTypes.INT),
    _told("x-should-retry", "`false` where trying again soon is pointless.", 429, 502, 503, 504),
]


def error_responses() -> dict[int, OpenApiResponse]:
    """Every status with the codes that a caller may read in it, from the one table."""
    codes: dict[int, list[str]] = defaultdict(list)
    for code in sorted(CATALOGUE.keys() - NOT_OF_A_POST):
        codes[CATALOGUE[code].status].append(f"`{code}`")
    return {status: OpenApiResponse(ErrorSerializer, description=", ".join(codes[status])) for status in sorted(codes)}


describe_chat = extend_schema(
    operation_id="create_chat_completion",
    summary="A chat completion, streamed or whole",
    description="With `stream: true` the answer is server-sent events, ended by `data: [DONE]`.",
    parameters=[*REQUEST_HEADERS, *ANSWER_HEADERS],
    request={"application/json": ChatRequestSerializer},
    responses={
        (200, "application/json"): ChatCompletionSerializer,
        (200, EVENT_STREAM): OpenApiTypes.STR,
        **error_responses(),
    },
)
