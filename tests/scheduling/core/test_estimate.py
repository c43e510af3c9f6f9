import pytest

from scheduling.core.estimate import estimate_tokens, learn_factor

# text, tokens: counted by hand from the rule
TABLE = [
    ("", 0),
    ("   \n\t", 0),
    ("hello world", 3),  # 10 letters / 4.4 = 2.3, more than 2 words
    ("a b c d e f", 6),  # words rule
    ("internationalization", 5),  # 20 / 4.4 = 4.5
    ("12345678", 3),  # 123 456 78
    ("x = 1;", 4),  # x, =, 1, ;
    ("안녕하세요", 3),  # 5 × 0.6
    ("東京タワー", 4),  # 5 × 0.75 = 3.75
    ("서울 2026년", 4),  # 3 × 0.6 = 1.8, 202 6
    ("snake_case", 4),  # 2 words (9 letters: 2.05) and _, rounded up
    ("!!! ???", 2),
]


@pytest.mark.parametrize(("text", "tokens"), TABLE)
def test_the_estimate_follows_the_rule(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


def test_a_longer_text_is_never_fewer_tokens() -> None:
    text = "The quick brown fox, 안녕하세요 세계! 東京 12345 def f(x): return x**2\n" * 3
    lengths = [estimate_tokens(text[:end]) for end in range(len(text))]
    assert lengths == sorted(lengths)


def test_korean_is_not_taken_for_a_quarter_of_its_letters() -> None:
    korean = "요청이 끝나기를 기다리다 대기 시간이 초과됐습니다"
    assert estimate_tokens(korean) > 1.8 * len(korean) / 4


def test_the_learned_factor_goes_towards_what_is_reported_and_stays_within_bounds() -> None:
    factor = 1000
    for _ in range(60):
        factor = learn_factor(factor, estimated=100, reported=150)
    assert 1480 <= factor <= 1500
    assert estimate_tokens("hello world", factor) == 4
    for _ in range(200):
        factor = learn_factor(factor, estimated=1, reported=10**9)
    assert factor == 4000
    assert learn_factor(factor, estimated=0, reported=5) == factor
