from __future__ import annotations

from itertools import pairwise

import pytest

from providers.simulator.directives import (
    Behaviour,
    DirectiveError,
    FaultCall,
    apply,
    apply_headers,
    parse_fault,
    split_model,
)


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("ok", FaultCall("ok")),
        ("cut_after:3", FaultCall("cut_after", ("3",))),
        ("cut_after(3)", FaultCall("cut_after", ("3",))),
        ("429()", FaultCall("429")),
        (
            "429(html, retry-after=20, retry-after=40)",
            FaultCall("429", ("html",), (("retry-after", "20"), ("retry-after", "40"))),
        ),
        (
            "429(openai,retry-after=Wed%2C 21 Oct 2026 07:28:00 GMT)",
            FaultCall("429", ("openai",), (("retry-after", "Wed, 21 Oct 2026 07:28:00 GMT"),)),
        ),
    ],
)
def test_a_fault_is_a_name_with_arguments(text, fault):
    assert parse_fault(text) == fault


def test_a_model_name_carries_directives():
    model, directives = split_model("sim-small;fault=cut_after(3);ttft_ms=200")
    behaviour = apply(Behaviour(), directives)
    assert (model, behaviour.ttft_ms, behaviour.fault) == ("sim-small", 200, FaultCall("cut_after", ("3",)))


def test_headers_say_the_same_in_one_or_in_several():
    several = apply_headers(Behaviour(), {"x-sim-ttft-ms": "200", "x-sim-fault": "gzip", "accept": "*/*"})
    assert several == apply_headers(Behaviour(), {"x-sim": "ttft_ms=200;fault=gzip"})


@pytest.mark.parametrize("text", ["speed=3", "ttft_ms=soon", "fault=(", "answer_tokens=1.5"])
def test_a_directive_that_cannot_be_followed_is_an_error_naming_it(text):
    with pytest.raises(DirectiveError):
        apply(Behaviour(), text)


def test_jitter_fills_its_range_evenly_and_repeatably():
    behaviour = Behaviour(ttft_ms=200, jitter_ms=80)
    times = sorted(behaviour.first_token_s(number) for number in range(1, 101))
    assert times == sorted(behaviour.first_token_s(number) for number in range(1, 101))
    assert times[0] >= 0.2
    assert times[-1] < 0.28
    assert max(later - earlier for earlier, later in pairwise(times)) < 0.002
