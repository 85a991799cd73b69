"""`postroad messages` and `postroad message send-again`."""

import pytest

from tests.cli.running import data, postroad

pytestmark = pytest.mark.usefixtures("road")


def test_messages_are_listed_as_a_table_and_as_json() -> None:
    first, second = (data("send", "good", str(n))["id"] for n in range(2))
    page = data("messages", "--queue", "good", "--state", "waiting")
    assert [each["id"] for each in page["messages"]] == [second, first]
    one = data("messages", "--order", "oldest", "--limit", "1")
    assert [each["id"] for each in one["messages"]] == [first]
    rest = data("messages", "--order", "oldest", "--after", one["after"])
    assert [each["id"] for each in rest["messages"]] == [second]
    shown = postroad("messages").stdout
    assert first in shown
    assert "waiting" in shown
    assert "no such messages" in postroad("messages", "--state", "dead").output
    assert data("message", "body", first)["body"] == 0


BAD = {
    "an unknown filter": (["messages", "--quue", "x"], "--quue"),
    "an unknown state": (["messages", "--state", "blocked"], "state"),
    "a bad cursor": (["messages", "--after", "x"], "not a cursor"),
    "times in the wrong order": (
        ["messages", "--since", "2026-01-02T00:00:00Z", "--until", "2026-01-01T00:00:00Z"],
        "not before until",
    ),
    "an unknown queue": (["messages", "--queue", "nope"], "no queue 'nope'"),
    "nothing to send": (["message", "send-again"], "say which"),
    "no body": (["message", "body", "msg_0000000000000"], "no body"),
}


@pytest.mark.parametrize("what", BAD)
def test_a_mistake_is_told_in_words(what: str) -> None:
    words, told = BAD[what]
    result = postroad(*words)
    assert (result.exit_code, result.stdout) == (2, "")
    assert told in result.stderr
    assert "Traceback" not in result.output


def test_what_is_not_finished_is_not_sent_again() -> None:
    number = data("send", "good", "1")["id"]
    result = postroad("message", "send-again", number)
    assert (result.exit_code, "is not finished" in result.stderr) == (2, True)
    assert data("message", "send-again", "--queue", "good", "--dry-run")["sent"] == 0
