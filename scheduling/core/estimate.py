"""How many tokens a text is, before a provider has counted it (SCHEDULING §5).

max(words, letters / 4.4) + digit groups of up to 3 + 0.6 × hangul + 0.75 × han and kana + other runs. Four letters a
token, the usual rule, is about half too low for Korean. A factor per model, learned from reported usage, goes on top.
"""

from __future__ import annotations

import re
from typing import Final

_WORDS: Final = re.compile(r"[A-Za-z\u00c0-\u024f\u0370-\u052f]+")
_DIGITS: Final = re.compile(r"[0-9]{1,3}")
_HANGUL: Final = re.compile(r"[\u1100-\u11ff\u3130-\u318f\ua960-\ua97f\uac00-\ud7ff]")
_HAN_KANA: Final = re.compile(r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_OTHER: Final = re.compile(
    r"[^A-Za-z\u00c0-\u024f\u0370-\u052f0-9\s\u1100-\u11ff\u3130-\u318f\ua960-\ua97f\uac00-\ud7ff"
    r"\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]+"
)


def estimate_tokens(text: str) -> int:
    """Whole tokens, rounded up; 0 for an empty text."""
    words = _WORDS.findall(text)
    letters = sum(map(len, words))
    hundredths = max(100 * len(words), -(-letters * 1000 // 44))
    hundredths += 100 * (len(_DIGITS.findall(text)) + len(_OTHER.findall(text)))
    if not text.isascii():
        hundredths += 60 * len(_HANGUL.findall(text)) + 75 * len(_HAN_KANA.findall(text))
    return -(-hundredths // 100)
