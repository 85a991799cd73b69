"""Every SQL statement is used, described and there when it is asked for."""

from pathlib import Path

import pytest

from tests.house.statements import Loaded, asked, loads, statements, users

SRC = Path(__file__).parents[2] / "src"
SOURCE = '''
async def f(self, kind):
    """reap"""
    await self.write("join", lambda db: db.run("leave", f"has_{kind}"))
    await self._line.one("beat", "beat_new")
    await self._write(Database.run, "unmark", 1)
    await self._sql.first("tokens", "token_find", 1)
    return QUERIES["gone"]
'''
LOADED = sorted({found for found in loads(SRC) if statements(found.folder)})


@pytest.mark.parametrize("loaded", LOADED, ids=lambda one: str(one.folder.relative_to(SRC)))
def test_every_statement_is_used_and_described_and_every_name_exists(loaded: Loaded) -> None:
    ours = statements(loaded.folder)
    found = asked([path.read_text("utf-8") for path in users(SRC, loaded.module)])
    assert [name for name in ours if not found.has(name)] == []
    assert [name for name, says in ours.items() if not says] == []
    if "QUERIES" in loaded.module.read_text("utf-8"):  # the names are of one folder alone
        assert sorted(found.names - ours.keys()) == []


def test_the_stores_and_the_demo_are_looked_at() -> None:
    folders = {str(one.folder.relative_to(SRC / "postroad")) for one in LOADED}
    assert folders >= {"stores/sqlite/queries", "demo"}


def test_labels_and_docstrings_are_no_use_of_a_statement() -> None:
    found = asked([SOURCE])
    used = ["leave", "has_lanes", "beat_new", "unmark", "token_find", "gone"]
    assert [name for name in used if not found.has(name)] == []
    assert [name for name in ("reap", "join", "beat", "tokens", "dead") if found.has(name)] == []
    assert found.names == {"leave", "unmark", "token_find", "gone"}


def test_a_statement_without_a_line_about_it_is_found(tmp_path: Path) -> None:
    (tmp_path / "one.sql").write_text(
        "-- name: told\n-- Ask.\nselect 1\n\n-- name: bare\nselect 2\n"
    )
    (tmp_path / "script.sql").write_text("create table one (two)")
    assert statements(tmp_path) == {"told": ["-- Ask."], "bare": []}
