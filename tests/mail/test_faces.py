"""Mail over HTTP and by commands, on a server that sends: single mails, attachments, a campaign."""

import json
import time
from collections.abc import Callable, Iterator
from email import message_from_bytes
from pathlib import Path

import pytest

from tests.cli.running import data, postroad, running
from tests.mail.mail_server import MailServer, Received

LOGO = b"\x89PNG" + bytes(range(256))
UP = ("up", "--listen", "127.0.0.1:0")


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MailServer]:
    """A relay, and in a folder of its own a road whose settings name it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("POSTROAD_SECRET", "")
    with MailServer() as server:
        (tmp_path / "postroad.toml").write_text(
            f'[mail]\nrelay = "{server.url}"\nsender = "Shop <shop@example.com>"\n'
            'allow = ["127.0.0.0/8"]\npublic_url = "https://road.example.com"\n'
        )
        yield server


def until(what: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 45
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.1)


def texts(mail: Received) -> dict[str, bytes]:
    """The parts of a mail by their type."""
    parts = [one for one in message_from_bytes(mail.content).walk() if not one.is_multipart()]
    found = {}
    for one in parts:
        payload = one.get_payload(decode=True)
        assert isinstance(payload, bytes)
        found[one.get_content_type()] = payload
    return found


def test_single_mails_and_attachments_by_commands(server: MailServer, tmp_path: Path) -> None:
    (tmp_path / "logo.png").write_bytes(LOGO)
    with running(tmp_path, *UP):
        logo = data("attachment", "put", "logo.png", "--cid", "logo")
        assert (logo["name"], logo["type"], logo["size"]) == ("logo.png", "image/png", len(LOGO))
        body = {"subject": "Hi", "html": '<img src="cid:logo">', "attachments": [logo]}
        receipt = data("send", "mailto:ann@example.com", json.dumps(body))
        until(lambda: data("message", "show", receipt["id"])["state"] == "delivered")
        bad = postroad("send", "mailto:ann@example.com", '{"subject": "", "text": "x"}')
        assert bad.exit_code == 2
        assert "the subject is empty" in bad.stderr
        kept = postroad("attachment", "get", logo["id"])
        assert kept.stdout_bytes == LOGO
        (stored,) = data("attachment", "list")["attachments"]
        assert (stored["id"], stored["size"]) == (logo["id"], len(LOGO))
        refused = postroad("attachment", "remove", logo["id"])
        assert refused.exit_code == 1
        assert "in use" in refused.stderr
    (mail,) = server.mails
    assert texts(mail)["image/png"] == LOGO


def test_a_campaign_by_commands_escapes_what_recipients_are_called(
    server: MailServer, tmp_path: Path
) -> None:
    (tmp_path / "logo.png").write_bytes(LOGO)
    (tmp_path / "people.csv").write_text(
        'recipient,name\nann@example.com,"<script>alert(1)</script> & Co"\n'
    )
    with running(tmp_path, *UP):
        _ = data("credential", "put", "main", "--kind", "smtp", "--provider", server.url)
        words = ("--template", "Dear {{ name }}", "--html", "<p>Dear {{ name }}</p>")
        more = ("--subject", "Hi {{ name }}", "--attachment", "logo=logo.png")
        _ = data("campaign", "create", "c", "--credential", "main", *words, *more)
        assert data("campaign", "details", "c")["attachments"][0]["cid"] == "logo"
        _ = data("campaign", "import", "c", "people.csv")
        shown = data("campaign", "preview", "c")
        assert shown["html"] == "<p>Dear &lt;script&gt;alert(1)&lt;/script&gt; &amp; Co</p>"
        assert shown["text"] == "Dear <script>alert(1)</script> & Co"
        for word in ("preview", "estimate"):  # a mail has no segments
            told = postroad("campaign", word, "c")
            assert "segment" not in told.stdout + told.stderr
        _ = data("campaign", "start", "c")
        until(lambda: data("campaign", "show", "c")["state"] == "done")
    (mail,) = server.mails
    found = texts(mail)
    assert b"<script>" in found["text/plain"]
    assert b"<script>" not in found["text/html"]
    assert found["image/png"] == LOGO
