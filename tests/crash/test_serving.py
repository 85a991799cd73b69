"""Kill -9 of the server under load: every 2xx answer is stored."""

from pathlib import Path

import apsw

from postroad.model.ids import to_text
from tests.crash.serving import kill_rounds, known


def test_every_answer_of_a_killed_server_is_stored() -> None:
    report = kill_rounds(2)
    assert report.breaches == []
    assert report.kills == 2
    assert report.answers > 0


def test_an_answer_that_is_not_stored_is_noticed(tmp_path: Path) -> None:
    db = apsw.Connection(str(tmp_path / "road.db"))
    for table in ("message", "history", "dead"):
        db.execute(f"create table {table} (id integer)")
    db.execute("insert into history values (7)")
    db.close()
    assert known(tmp_path / "road.db", [to_text(7), to_text(8)]) == {to_text(7)}
