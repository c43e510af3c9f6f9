"""Log lines say what happened, never with what."""

from __future__ import annotations

import pytest
import structlog

from relay_project.problems import problem_of

SECRET = "rk-only-in-a-variable"


def _fail(token: str) -> None:
    raise ZeroDivisionError("a bug")


def _bug() -> ZeroDivisionError:
    """One that was raised where a secret was at hand."""
    with pytest.raises(ZeroDivisionError) as raised:
        _fail(SECRET)
    return raised.value


def test_a_bug_is_logged_with_its_traceback_and_without_the_values_of_variables(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert problem_of(_bug()).code == "internal"
    logged = capsys.readouterr().out
    assert "ZeroDivisionError: a bug" in logged
    assert "in _fail" in logged
    assert SECRET not in logged


def test_every_line_says_when_and_how_bad(capsys: pytest.CaptureFixture[str]) -> None:
    structlog.get_logger("any").warning("it happened", provider="one")
    assert capsys.readouterr().out.count("Z [warning") == 1
