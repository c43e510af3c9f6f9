"""Wire dialects by name."""

from __future__ import annotations

from collections.abc import Mapping

from providers.simulator.dialects.dialect import Dialect
from providers.simulator.dialects.openai_chat.dialect import OpenAIChat

DIALECTS: Mapping[str, Dialect] = {dialect.name: dialect for dialect in (OpenAIChat(),)}
