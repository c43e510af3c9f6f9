from __future__ import annotations

import io
import json
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from scheduling.planner.progress import ProgressBar


def simulate(*arguments: str) -> tuple[str, str]:
    out, err = io.StringIO(), io.StringIO()
    call_command("simulate", *arguments, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def test_rows_come_as_json_and_nothing_else_on_stdout(tmp_path: Path) -> None:
    out, err = simulate("minute-burst", "--json", "--out", str(tmp_path))
    rows = {row["row"]: row for row in json.loads(out)}
    assert list(rows) == list("ABCDEFG")
    assert (rows["A"]["refusals"], rows["A"]["done"], rows["A"]["dead"], rows["A"]["p95_s"]) == (200, 50, 50, None)
    assert "minute-burst.html" in err


def test_a_table_and_a_picture_are_made(tmp_path: Path) -> None:
    out, _ = simulate("refund-trap", "--out", str(tmp_path / "new" / "folder"))
    assert "gives back" in out
    assert "<svg" in (tmp_path / "new" / "folder" / "refund-trap.html").read_text()


def test_another_seed_draws_anew(tmp_path: Path) -> None:
    first, second, again = (simulate("refund-trap", "--json", "--out", str(tmp_path), "--seed", n)[0] for n in "121")
    assert first == again != second


def test_a_bad_file_is_told_by_field(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('name = "x"\ntitle = 3\n')
    with pytest.raises(CommandError, match=r"title: Expected `str`, got `int`"):
        simulate(str(path), "--out", str(tmp_path))


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(CommandError, match="--out: cannot write"):
        simulate("refund-trap", "--out", str(tmp_path / "file" / "below"))


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_bar_is_drawn_on_a_terminal_and_wiped_at_the_end() -> None:
    terminal = Terminal()
    with ProgressBar(terminal, parts=2) as bar:
        bar.begin("A")
        bar.begin("B")
        bar.show(0.5)
    drawn = terminal.getvalue()
    assert "  0%  A" in drawn
    assert " 75%  B" in drawn
    assert drawn.endswith("\r")


def test_there_is_no_bar_where_there_is_no_terminal() -> None:
    stream = io.StringIO()
    with ProgressBar(stream, parts=1) as bar:
        bar.begin("A")
    assert stream.getvalue() == ""
