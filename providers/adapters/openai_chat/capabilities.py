"""What the vendors that speak OpenAI's chat dialect do differently, as data."""

CHAT_PATH = "/chat/completions"
MODELS_PATH = "/models"

# Vendors that refuse `stream_options` or send usage without being asked (facts: provider-facts §14, §10).
USAGE_UNASKED = frozenset({"mistral"})

# Answer headers that are the caller's business; the rest speaks of the shared account.
PASSED_HEADERS = frozenset({"content-type", "openai-model", "openai-processing-ms", "openai-version", "x-request-id"})

# Members of a request that bound the length of an answer.
CAP_MEMBERS = ("max_tokens", "max_completion_tokens", "max_output_tokens")

# Members of a delta or a message that are real output.
CONTENT_MEMBERS = frozenset(
    {
        "content",
        "tool_calls",
        "reasoning_content",
        "reasoning",
        "reasoning_details",
        "refusal",
        "function_call",
        "audio",
        "images",
    }
)

# Finish reasons that say that the answer broke off (facts: provider-facts §16, OpenRouter).
BROKE_OFF = frozenset({"error"})

# Finish reasons with which an answer may honestly have no content.
EMPTY_IS_HONEST = frozenset({"length", "content_filter", "tool_calls", "function_call"})
