"""Commands for messages, on a road that nobody runs: they open the file themselves."""

import pytest

from postroad.cli.progress import show_progress
from tests.cli.running import data, postroad

pytestmark = pytest.mark.usefixtures("road")


def test_send_show_explain_cancel() -> None:
    receipt = data("send", "good", '{"id": 7}', "--key", "k")
    again = data("send", "good", "-", "--key", "k", given='{"id": 7}')
    assert again == {**receipt, "duplicate": True}
    shown = data("message", "show", receipt["id"])
    assert (shown["state"], shown["queue"]) == ("waiting", "good")
    said = postroad("message", "explain", receipt["id"])
    assert "is waiting" in said.stdout
    assert data("message", "cancel", receipt["id"])["state"] == "cancelled"
    assert "cancelled" in postroad("message", "show", receipt["id"]).stdout


def test_everything_about_a_send_can_be_said() -> None:
    more = ("priority=3", "expires_at=2099-01-01T00:00:00Z", "header.x=y")
    words = [word for each in more for word in ("--with", each)]
    receipt = data("send", "good", "plain words", "--text", "--delay", "60", *words)
    shown = data("message", "show", receipt["id"])
    assert shown["expires_at_ms"] == 4_070_908_800_000


BAD = {
    "not JSON": (["send", "good", "{x"], 2, "--text"),
    "an unknown queue": (["send", "nope", "1"], 2, "no handler 'nope'"),
    "no transport": (["send", "gopher://x", "1"], 2, "gopher"),
    "a bad pair": (["send", "good", "1", "--with", "priority"], 2, "NAME=VALUE"),
    "a bad name": (["send", "good", "1", "--with", "prio=1"], 2, "--with prio:"),
    "a bad priority": (["send", "good", "1", "--with", "priority=x"], 2, "-9 to 9"),
    "a priority out of range": (["send", "good", "1", "--with", "priority=10"], 2, "priority"),
    "a bad time": (["send", "good", "1", "--with", "deliver_at=soon"], 2, "deliver_at"),
    "no id": (["message", "show", "x"], 2, "not a message id"),
    "an unknown id": (["message", "cancel", "msg_0000000000000"], 2, "knows no message"),
    "an unknown setting": (["message", "show", "x", "--set", "a=b"], 2, "no setting 'a'"),
    "a bad setting": (["message", "show", "x", "--set", "a"], 2, "NAME=VALUE"),
    "no road": (["message", "show", "x", "--dsn", "sqlite:///no.db"], 2, "postroad up"),
    "a bad dsn": (["message", "show", "x", "--dsn", "mysql://x"], 2, "mysql"),
    "no server": (["message", "show", "x", "--server", "http://127.0.0.1:1"], 2, "POSTROAD_TOKEN"),
    "a bad option": (["message", "show", "x", "--jsn"], 2, "--jsn"),
}


@pytest.mark.parametrize("what", BAD)
def test_a_mistake_is_told_in_words_with_its_code(what: str) -> None:
    words, code, told = BAD[what]
    result = postroad(*words)
    assert (result.exit_code, result.stdout) == (code, "")
    assert told in result.stderr
    assert "Traceback" not in result.output


def test_a_mistake_is_a_problem_for_programs() -> None:
    result = postroad("send", "nope", "1", "--json")
    assert result.exit_code == 2
    assert '"urn:postroad:problem:unknown-queue"' in result.stderr


def test_a_server_that_does_not_answer_is_unavailable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POSTROAD_TOKEN", "x")
    result = postroad("message", "show", "x", "--server", "http://127.0.0.1:1")
    assert result.exit_code == 3
    assert "no answer from http://127.0.0.1:1" in result.stderr


def test_ctrl_c_says_how_far_a_count_was(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(KeyboardInterrupt), show_progress("cancelling") as told:
        told(10_500)
        raise KeyboardInterrupt
    assert "cancelling 10,500, perhaps a few more" in capsys.readouterr().err
