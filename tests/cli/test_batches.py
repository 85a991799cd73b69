"""`postroad batches`: a batch from a file, and how it stands."""

import json
from pathlib import Path

import pytest

from tests.cli.running import data, postroad


@pytest.mark.usefixtures("road")
def test_a_batch_from_a_file(folder: Path) -> None:
    step = {"queue": "good", "body": 1}
    file = folder / "batch.json"
    file.write_text(json.dumps({"members": [step, {"steps": [step, step]}], "then": step}))
    said = data("batches", "send", str(file))
    assert said["total"] == 2
    assert data("batches", "show", said["id"])["state"] == "open"
    assert said["id"] in postroad("batches", "list").stdout
    assert "0 of 2" in postroad("batches", "show", said["id"]).stdout


@pytest.mark.usefixtures("road")
def test_a_file_that_is_no_batch_is_named(folder: Path) -> None:
    file = folder / "batch.json"
    missing = postroad("batches", "send", str(file))
    assert (missing.exit_code, "cannot be read" in missing.stderr) == (2, True)
    for text in ("[1]", "{", '{"members": [{"queue": "nobody", "body": 1}]}', '{"members": [1]}'):
        file.write_text(text)
        wrong = postroad("batches", "send", str(file))
        assert wrong.exit_code == 2, wrong.stderr
    for text, says in (
        ('{"members": [{"queue": "good", "body": 1}, ["good", 1]]}', "members[1]: expected"),
        ('{"steps": [{"queue": "good", "body": 1, "kez": 1}]}', "steps[0].kez: "),
        ('{"members": [{"steps": [7]}], "then": 1}', "members[0].steps[0]: expected"),
        ('{"members": [], "then": 1}', "then: expected"),
    ):
        file.write_text(text)
        wrong = postroad("batches", "send", str(file))
        assert (wrong.exit_code, says in wrong.stderr) == (2, True), wrong.stderr
    assert data("batches", "list")["batches"] == []


@pytest.mark.usefixtures("road")
def test_a_batch_is_waited_for_and_cancelled(folder: Path) -> None:
    file = folder / "batch.json"
    file.write_text(json.dumps({"members": [{"queue": "good", "body": n} for n in range(3)]}))
    batch = data("batches", "send", str(file))["id"]
    early = postroad("batches", "wait", batch, "--wait", "0s")
    assert (early.exit_code, "3 of 3 members have not ended" in early.stdout) == (1, True)
    assert "3 cancelled; all 3 members have ended" in postroad("batches", "cancel", batch).stdout
    for word in ("wait", "watch"):
        ended = postroad("batches", word, batch)
        assert (ended.exit_code, "3 cancelled" in ended.stdout) == (1, True)
