"""Which table reads which vendor. A vendor's variants ("zhipu-coding-plan") fall back to its stem."""

from __future__ import annotations

from providers.adapters.anthropic.refusals import ANTHROPIC
from providers.adapters.bedrock.refusals import BEDROCK
from providers.adapters.cli_claude.refusals import CLAUDE_CODE
from providers.adapters.cli_codex.refusals import CODEX_BACKEND, CODEX_CLI
from providers.adapters.cli_gemini.refusals import GEMINI_CLI
from providers.adapters.cohere.refusals import COHERE
from providers.adapters.fal.refusals import FAL
from providers.adapters.gemini.refusals import CODE_ASSIST, GEMINI, VERTEX
from providers.adapters.ollama.refusals import OLLAMA
from providers.adapters.openai_chat import local_refusals as local
from providers.adapters.openai_chat import vendor_refusals as hosted
from providers.adapters.openai_chat.refusals import AZURE, DIALECT, GITHUB_MODELS, OPENAI
from providers.contract import RefusalKind as K
from providers.reading.rows import Row, Table

GENERIC = Table(
    "generic",
    parent=DIALECT,
    rows=(
        Row(K.CONCURRENCY, statuses=(429,), words=r"concurren(?:cy|t) (?:request )?limit|too many concurrent"),
        Row(K.EXHAUSTED, statuses=(403, 429), words=r"quota (?:has been )?exhausted|usage limit"),
    ),
)

TABLES: dict[str, Table] = {
    "openai": OPENAI,
    "azure": AZURE,
    "github-models": GITHUB_MODELS,
    "anthropic": ANTHROPIC,
    "claude": CLAUDE_CODE,
    "claude-subscription": ANTHROPIC,
    "claude-code": CLAUDE_CODE,
    "claude-cli": CLAUDE_CODE,
    "openai-codex": CODEX_BACKEND,
    "codex": CODEX_CLI,
    "codex-backend": CODEX_BACKEND,
    "gemini": GEMINI,
    "gemini-code-assist": CODE_ASSIST,
    "antigravity": CODE_ASSIST,
    "gemini-cli": GEMINI_CLI,
    "vertex": VERTEX,
    "bedrock": BEDROCK,
    "cohere": COHERE,
    "fal": FAL,
    "ollama": OLLAMA,
    "groq": hosted.GROQ,
    "mistral": hosted.MISTRAL,
    "deepseek": hosted.DEEPSEEK,
    "openrouter": hosted.OPENROUTER,
    "together": hosted.TOGETHER,
    "fireworks": hosted.FIREWORKS,
    "xai": hosted.XAI,
    "moonshot": hosted.MOONSHOT,
    "kimi": hosted.MOONSHOT,
    "zhipu": hosted.ZHIPU,
    "zai": hosted.ZHIPU,
    "z.ai": hosted.ZHIPU,
    "dashscope": hosted.DASHSCOPE,
    "huggingface": hosted.HUGGINGFACE,
    "nvidia": hosted.NVIDIA,
    "cerebras": hosted.CEREBRAS,
    "wandb": hosted.WANDB,
    "opencode": hosted.OPENCODE,
    "lm-studio": local.LM_STUDIO,
    "lmstudio": local.LM_STUDIO,
    "llama.cpp": local.LLAMA_CPP,
    "llamacpp": local.LLAMA_CPP,
    "vllm": local.VLLM,
}


def table_of(vendor: object) -> Table:
    """The table of a vendor's name, of its stem ("a-b-c" → "a-b" → "a"), else the generic one."""
    stem = str(vendor).strip().lower().replace("_", "-").replace(" ", "-")
    while stem:
        if stem in TABLES:
            return TABLES[stem]
        stem = stem.rpartition("-")[0]
    return GENERIC
