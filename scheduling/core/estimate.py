"""How many tokens a text will be, before any tokenizer has seen it.

max(words, letters / 4.4) + digit groups of up to 3 + 0.6 × hangul + 0.75 × han and kana + other runs, times a factor
per model learned from reported usage. (Letters / 4 alone is half of the truth for Korean.) Whole numbers only: weights
in thousandths, the result rounded up.
"""

from __future__ import annotations

import re
from typing import Final

from scheduling.core.moment import ceil_div

_HANGUL: Final = "\u1100-\u11ff\u3130-\u318f\ua960-\ua97f\uac00-\ud7fb"
_HAN_KANA: Final = "\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_HANGUL_LETTERS: Final = re.compile(f"[{_HANGUL}]")
_HAN_KANA_LETTERS: Final = re.compile(f"[{_HAN_KANA}]")
_EAST_ASIAN: Final = re.compile(f"[{_HANGUL}{_HAN_KANA}]+")
_WORDS: Final = re.compile(r"[^\W\d_]+")
_DIGIT_GROUPS: Final = re.compile(r"\d{1,3}")
_OTHER_RUNS: Final = re.compile(r"(?:[^\w\s]|_)+")

UNLEARNED_PERMILLE: Final = 1000
_SLOWNESS: Final = 8  # a new figure counts for one part in eight
_LOWEST, _HIGHEST = 250, 4000


def estimate_tokens(text: str, factor_permille: int = UNLEARNED_PERMILLE) -> int:
    """Tokens of `text`; 0 only for a text without anything to see."""
    hangul = len(_HANGUL_LETTERS.findall(text))
    han_kana = len(_HAN_KANA_LETTERS.findall(text))
    if hangul or han_kana:
        text = _EAST_ASIAN.sub(" ", text)
    words = _WORDS.findall(text)
    letters = sum(map(len, words))
    permille = max(1000 * len(words), ceil_div(letters * 10_000, 44))
    permille += 1000 * (len(_DIGIT_GROUPS.findall(text)) + len(_OTHER_RUNS.findall(text)))
    permille += 600 * hangul + 750 * han_kana
    return ceil_div(permille * factor_permille, 1_000_000)


def learn_factor(factor_permille: int, estimated: int, reported: int) -> int:
    """The model's factor after a reported usage. `estimated` is what `estimate_tokens` said with factor 1000."""
    if estimated <= 0 or reported <= 0:
        return factor_permille
    seen = 1000 * reported // estimated
    learned = ((_SLOWNESS - 1) * factor_permille + seen) // _SLOWNESS
    return min(_HIGHEST, max(_LOWEST, learned))
