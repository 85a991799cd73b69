"""`postroad doctor`: each part with what was found and how to mend it."""

import json
from pathlib import Path

import apsw
import pytest

from postroad.cli import checks
from tests.cli.running import UP, data, postroad, running


def states() -> dict[str, str]:
    result = postroad("doctor", "--json")
    return {each["part"]: each["state"] for each in doctor_data(result.stdout)}


def doctor_data(text: str) -> list[dict[str, str]]:
    found: list[dict[str, str]] = json.loads(text)
    return found


def test_a_road_in_good_order(road: str) -> None:
    assert road
    found = data("doctor")
    assert {each["part"] for each in found} == {
        "settings", "listen", "SQLite", "disk", "store", "schema", "clock", "bell",
    }  # fmt: skip
    assert {each["state"] for each in found} == {"ok"}
    assert "how to fix it" in postroad("doctor").stdout


def test_a_road_that_runs_is_asked(folder: Path) -> None:
    with running(folder, *UP):
        found = {each["part"]: each["found"] for each in data("doctor")}
        assert "engine ok" in found["server"]


def test_a_road_on_a_broker_is_not_made_by_looking(folder: Path) -> None:
    before = set(folder.iterdir())
    dsn = "amqp://me:hunter2@127.0.0.1:1/"
    found = postroad("doctor", "--dsn", dsn)
    assert (found.exit_code, "amqp://127.0.0.1:1/ cannot be reached" in found.stdout) == (1, True)
    asked = postroad("stats", "--dsn", dsn)
    assert (asked.exit_code, "there is no road at" in asked.stderr) == (2, True), asked.output
    assert "hunter2" not in found.output + asked.output
    assert set(folder.iterdir()) == before


def test_what_is_wrong_is_named_with_how_to_mend_it(
    road: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = Path(road.removeprefix("sqlite:///"))
    monkeypatch.setattr(apsw, "sqlite_lib_version", lambda: "3.40.1")
    monkeypatch.setattr(checks, "DISK_FLOOR_BYTES", 1 << 62)
    monkeypatch.setenv("POSTROAD_LISTEN", "0.0.0.0:8600")
    result = postroad("doctor", "--json")
    assert result.exit_code == 1
    found = {each["part"]: each for each in doctor_data(result.stdout)}
    assert [found[part]["state"] for part in ("SQLite", "disk", "listen")] == [
        "fail",
        "fail",
        "warn",
    ]
    assert all(each["mend"] for each in found.values() if each["state"] != "ok")
    monkeypatch.setenv("POSTROAD_LISTEN", "nowhere")
    assert states() == {"settings": "fail"}
    monkeypatch.delenv("POSTROAD_LISTEN")
    path.write_bytes(b"not a database" * 1000)
    assert states()["store"] == "fail"
    monkeypatch.setenv("POSTROAD_DSN", "sqlite:///nothing/here.db")
    assert states()["store"] == "warn"
    monkeypatch.setenv("POSTROAD_DSN", "postgresql://me:hunter2@127.0.0.1:1/x")
    broken = postroad("doctor")
    assert broken.exit_code == 1
    assert "hunter2" not in broken.output
