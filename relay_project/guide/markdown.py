"""The guide as Markdown. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from django.utils.translation import gettext as _

from relay_project.guide.content import Guide, ModelCard, PresetCard, ReasonCard, RoleCard


def draw_markdown(guide: Guide) -> str:
    return "\n".join(_lines(guide)) + "\n"


def _lines(guide: Guide) -> Iterator[str]:
    yield from (f"# {_('Developer guide')}", "")
    yield from (f"{_('Base URL')}: `{guide.base_url}`  ", f"{_('Token')}: `Authorization: Bearer rk-…`", "")
    yield from (
        f"## {_('Rules that keep it stable')}",
        "",
        *(f"{n}. {rule}" for n, rule in enumerate(guide.rules, 1)),
        "",
    )
    yield from (f"## {_('Roles')}", "", *role_table(guide.roles), "")
    yield from (f"## {_('Models')}", "", *model_table(guide.models), "")
    yield from (f"## {_('When the relay says no')}", "", *reason_table(guide.reasons), "")
    yield from (f"## {_('Presets')}", "", *preset_table(guide.presets))


def role_table(roles: Iterable[RoleCard]) -> Iterator[str]:
    yield from _head(_("role"), _("for"), _("models, in order"))
    for role in roles:
        yield _row(f"`{role.name}`", role.description, ", ".join(f"`{name}`" for name in role.models))


def model_table(models: Iterable[ModelCard]) -> Iterator[str]:
    yield from _head(
        _("model"), _("context"), _("longest answer"), _("at once"), _("split"), _("longest wait"), _("pace")
    )
    for model in models:
        yield _row(
            f"`{model.name}`",
            _count(model.context_window),
            _count(model.max_output),
            str(model.at_once),
            split_words(model.split),
            f"{model.wait_timeout_s:g} s",
            "; ".join(model.pace) or "–",
        )


def reason_table(reasons: Iterable[ReasonCard]) -> Iterator[str]:
    yield from _head(_("code"), _("status"), _("stage"), _("what it means"), _("what to do"))
    for reason in reasons:
        yield _row(f"`{reason.code}`", str(reason.status), reason.stage, reason.meaning, reason.advice)


def preset_table(presets: Iterable[PresetCard]) -> Iterator[str]:
    yield from _head(_("preset"), _("lanes"), _("per model"), _("longest wait"), _("longest run"), _("pace"), _("note"))
    for preset in presets:
        yield _row(
            f"`{preset.key}`",
            _count(preset.lanes),
            _count(preset.lanes_per_model),
            _seconds(preset.wait_timeout_s),
            _seconds(preset.run_timeout_s),
            "; ".join(preset.pace) or "–",
            preset.note,
        )


def split_words(split: str) -> str:
    return {"few_large": _("few large requests"), "many_small": _("many small requests")}.get(split, "–")


def _head(*names: str) -> Iterator[str]:
    yield _row(*names)
    yield "|" + "---|" * len(names)


def _row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


def _count(value: int | None) -> str:
    return "–" if value is None else f"{value:,}"


def _seconds(value: int | None) -> str:
    return "–" if value is None else f"{value} s"
