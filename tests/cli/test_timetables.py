"""`postroad timetable`: made, shown, changed, paused, run and deleted by commands."""

import pytest

from tests.cli.running import data, postroad


@pytest.mark.usefixtures("road")
def test_a_timetable_by_commands() -> None:
    times = ("--cron", "0 9 * * *", "--zone", "Europe/Berlin")
    made = data("timetable", "create", "daily", "good", '{"for": "ann"}', *times)
    assert (made["when"], made["body"]) == ("at 09:00 every day Europe/Berlin", {"for": "ann"})
    shown = postroad("timetable", "show", "daily").stdout
    assert "at 09:00 every day Europe/Berlin" in shown
    assert '{"for":"ann"}' in shown
    listed = postroad("timetable", "list").stdout
    assert "daily" in listed
    assert "made" in listed
    changed = data("timetable", "change", "daily", "--every", "90s", "--missed", "all")
    assert (changed["when"], changed["missed"]) == ("every 1 min 30 s", "all")
    assert data("timetable", "change", "daily", "--body", "7")["body"] == 7
    assert "paused" in postroad("timetable", "pause", "daily").stdout
    assert data("timetable", "resume", "daily")["paused"] is False
    assert "is stored" in postroad("timetable", "run", "daily").stdout
    assert "deleted: daily" in postroad("timetable", "delete", "daily").stdout
    assert data("timetable", "list")["timetables"] == []


@pytest.mark.usefixtures("road")
def test_what_is_wrong_is_named() -> None:
    for given, says in (
        (("create", "it", "good", "1"), "one of them"),
        (("create", "it", "good", "{", "--every", "60s"), "or use --text"),
        (("create", "it", "good", "1", "--cron", "61 * * * *"), "bad minute"),
        (("create", "it", "good", "1", "--cron", "* * * * *", "--zone", "Nowhere"), "time zone"),
        (("create", "it", "good", "1", "--every", "0s"), "--every: give one second to a year"),
        (("create", "it", "good", "1", "--every", "0.1s"), "--every: give one second to a year"),
        (("change", "it"), "say what is to be different"),
        (("pause", "it"), "has no timetable 'it'"),
    ):
        wrong = postroad("timetable", *given)
        assert wrong.exit_code == 2, wrong.stderr
        assert says in " ".join(wrong.stderr.split())
        assert "tz=" not in wrong.stderr


@pytest.mark.usefixtures("road")
def test_a_zone_without_a_cron_line_is_refused() -> None:
    _ = data("timetable", "create", "often", "good", "1", "--every", "90s")
    refused = postroad("timetable", "change", "often", "--zone", "Europe/Berlin")
    assert refused.exit_code == 2
    assert "comes every 1 min 30 s: leave it out" in " ".join(refused.stderr.split())
    assert data("timetable", "change", "often", "--zone", "UTC")["zone"] == "UTC"  # as it was


@pytest.mark.usefixtures("road")
def test_a_body_that_is_text() -> None:
    made = data("timetable", "create", "greeting", "good", "hello", "--text", "--every", "1h")
    assert made["body"] == "hello"
    changed = data("timetable", "change", "greeting", "--body", "7", "--text")
    assert changed["body"] == "7"
    assert data("timetable", "change", "greeting", "--body", "7")["body"] == 7


@pytest.mark.usefixtures("road")
def test_a_timetable_of_bytes_by_commands() -> None:
    made = data(
        "timetable", "create", "raw", "good", "-", "--bytes", "--every", "1h", given=b"\0\xff"
    )
    assert (made["body"], made["body_base64"]) == (None, "AP8=")
    assert "AP8=" in postroad("timetable", "show", "raw").stdout
    assert data("timetable", "change", "raw", "--body", "7")["body"] == 7
    sent = data("send", "good", "-", "--bytes", given=b"\0\xff")
    assert data("message", "body", sent["id"])["body_base64"] == "AP8="
    for given in (("create", "x", "good", "-", "--every", "1h"), ("change", "raw", "--body", "-")):
        wrong = postroad("timetable", *given, given=b"\xff")
        assert (wrong.exit_code, "--bytes" in wrong.stderr) == (2, True)
        wrong = postroad("timetable", *given, "--text", "--bytes", given=b"\xff")
        assert (wrong.exit_code, "one of them" in wrong.stderr) == (2, True)
