"""How vendors count and how they say no: one `Style` each, chosen by name."""

from __future__ import annotations

from collections.abc import Mapping

from providers.simulator.styles import anthropic, azure, gemini, groq, openai, plain
from providers.simulator.styles.style import Refused, Style

STYLES: Mapping[str, Style] = {
    style.name: style for style in (openai.STYLE, azure.STYLE, anthropic.STYLE, gemini.STYLE, groq.STYLE, *plain.STYLES)
}

__all__ = ["STYLES", "Refused", "Style"]
