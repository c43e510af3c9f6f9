"""How a call must end for every fault of the simulator (docs/simulator.md), streamed and in one piece."""

from __future__ import annotations

# (outcome in the books, code told); "" = an answer.
Ending = tuple[str, str]
WHOLE: Ending = ("completed", "")
RECOVERED: Ending = ("recovered", "")
BROKEN: Ending = ("upstream_error", "provider_unavailable")
EMPTY: Ending = ("empty", "provider_unavailable")
CUT_SHORT: Ending = ("truncated", "provider_unavailable")
TOO_LONG: Ending = ("run_timeout", "run_timeout")
OUR_KEY: Ending = ("refused", "provider_unavailable")  # the relay's key, not the caller's
BUSY: Ending = ("refused", "provider_rate_limited")
USED_UP: Ending = ("refused", "insufficient_quota")
NO_CAPACITY: Ending = ("refused", "provider_overloaded")
WRONG: Ending = ("refused", "invalid_request")
PROMPT_TOO_LONG: Ending = ("refused", "context_length_exceeded")

# The fault as directed → how a stream ends, how an answer in one piece ends.
ENDINGS: dict[str, tuple[Ending, Ending]] = {
    "ok": (WHOLE, WHOLE),
    "slow_first_byte(200)": (WHOLE, WHOLE),
    "slow_first_token(200)": (WHOLE, WHOLE),
    "silent_after_accept": (TOO_LONG, TOO_LONG),
    "silent_after_events(0)": (TOO_LONG, TOO_LONG),
    "silent_after_events(3)": (TOO_LONG, TOO_LONG),
    "trickle(1000)": (TOO_LONG, WHOLE),  # the limit falls into the middle of an event
    "cut_after(0)": (BROKEN, BROKEN),
    "cut_after(3)": (BROKEN, BROKEN),
    "reset_connection": (BROKEN, BROKEN),
    "reset_connection(3)": (BROKEN, BROKEN),
    "garbage": (BROKEN, BROKEN),
    "garbage(3)": (BROKEN, BROKEN),
    "empty_200": (EMPTY, EMPTY),
    "html_502_in_200": (BROKEN, BROKEN),
    "event_1MiB": (WHOLE, WHOLE),
    "split_bytes_at": (WHOLE, WHOLE),
    "crlf": (WHOLE, WHOLE),
    "cr_only": (WHOLE, WHOLE),
    "bom": (WHOLE, WHOLE),
    "gzip": (WHOLE, WHOLE),
    "set_cookie": (WHOLE, WHOLE),
    "redirect": (BROKEN, BROKEN),
    "429": (BUSY, BUSY),
    "429(html,retry-after=7)": (BUSY, BUSY),
    "429(quota)": (USED_UP, USED_UP),
    "402": (USED_UP, USED_UP),
    "401_once": (OUR_KEY, OUR_KEY),
    "401": (OUR_KEY, OUR_KEY),
    "400_context": (PROMPT_TOO_LONG, PROMPT_TOO_LONG),
    "413_html": (WRONG, WRONG),
    "503": (NO_CAPACITY, NO_CAPACITY),
    "500": (BROKEN, BROKEN),
    "502": (BROKEN, BROKEN),
    "504": (TOO_LONG, TOO_LONG),
    "520": (BROKEN, BROKEN),
    "529": (NO_CAPACITY, NO_CAPACITY),
    "echo_request_bytes": (WHOLE, WHOLE),
    "count_inflight": (WHOLE, WHOLE),
    "short_answer_with_error_signal": (RECOVERED, RECOVERED),
    "no_done": (CUT_SHORT, WHOLE),  # in one piece: the closing brace says that it is whole
    "done_without_finish": (WHOLE, WHOLE),
    "finish_without_done": (WHOLE, WHOLE),
    "error_event_before_content": (BROKEN, BROKEN),
    "error_event_before_content(overloaded_error)": (NO_CAPACITY, NO_CAPACITY),
    "error_event_before_content(insufficient_quota)": (USED_UP, USED_UP),
    "error_event_after_content": (BROKEN, BROKEN),
    "error_event_after_content(overloaded_error,3)": (("upstream_error", "provider_overloaded"), NO_CAPACITY),
    "no_content": (EMPTY, EMPTY),
    "no_usage": (WHOLE, WHOLE),
    "usage_zero": (WHOLE, WHOLE),
    "usage_only_last_chunk": (WHOLE, WHOLE),
    "usage_in_empty_delta": (WHOLE, WHOLE),
    "azure_prompt_filter_first": (WHOLE, WHOLE),
    "choice_without_delta": (WHOLE, WHOLE),
    "comments": (WHOLE, WHOLE),
    "parallel_tools(interleaved)": (WHOLE, WHOLE),
    "parallel_tools(no_index)": (WHOLE, WHOLE),
    "parallel_tools(one_delta)": (WHOLE, WHOLE),
    "n3_interleaved": (WHOLE, WHOLE),
    "logprobs": (WHOLE, WHOLE),
    "thinking_signature_only": (WHOLE, WHOLE),
    "signature_in_pieces": (WHOLE, WHOLE),
}
