"""Suppression lists over HTTP and by commands."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.api.stand import Stand, fields, kind
from tests.cli.running import data, postroad, running

PATH = "/v1/suppressions"


def asked(folder: Path, story: Any) -> None:
    async def run() -> None:
        async with Stand(folder) as stand:
            await story(stand)

    asyncio.run(run())


def test_entries_are_added_listed_in_pages_and_removed(tmp_path: Path) -> None:
    async def story(stand: Stand) -> None:
        for n in range(3):
            made = await stand.say("POST", PATH, {"recipient": f"u{n}@example.com", "note": "x"})
            assert made.status == 201
        page = (await stand.say("GET", PATH, query={"limit": 2})).json()
        assert [one["recipient"] for one in page["suppressions"]] == [
            "u2@example.com",
            "u1@example.com",
        ]
        rest = (await stand.say("GET", PATH, query={"after": page["after"]})).json()
        assert [one["recipient"] for one in rest["suppressions"]] == ["u0@example.com"]
        assert rest["after"] == ""
        gone = await stand.say("DELETE", PATH, query={"recipient": "U1@example.com"})
        assert (gone.status, gone.json()) == (200, {"count": 1})
        gone = await stand.say("DELETE", PATH, query={"recipient": "u1@example.com"})
        assert (gone.status, kind(gone)) == (404, "unknown-suppression")
        for bad, name in (
            ({"recipient": ""}, "recipient"),
            ({"recipient": "a@b.c", "reason": "x"}, "reason"),
        ):
            assert fields(await stand.say("POST", PATH, bad)) == [name]
        assert (await stand.say("POST", PATH, {"recipient": "a b@example.com"})).status == 400

    asked(tmp_path, story)


def test_each_change_has_its_line_in_the_audit_log(tmp_path: Path) -> None:
    async def story(stand: Stand) -> None:
        await stand.say(
            "POST", PATH, {"recipient": "ann@example.com", "reason": "complaint", "note": "n0te"}
        )
        await stand.say("POST", f"{PATH}:import", b"recipient\nbob@example.com\n")
        await stand.say("POST", f"{PATH}:export", {})
        await stand.say("DELETE", PATH, query={"recipient": "ann@example.com"})
        lines = (await stand.say("GET", "/v1/audit")).json()["lines"]
        assert [(line["verb"], line["outcome"]) for line in reversed(lines)] == [
            ("suppression_add", "done"),
            ("suppression_import", "done"),
            ("suppression_export", "done"),
            ("suppression_remove", "done"),
        ]
        told = {"recipient": "ann@example.com", "reason": "complaint"}
        assert lines[-1]["what"] == told
        assert lines[0]["what"]["recipient"] == "ann@example.com"
        assert "n0te" not in str(lines)

    asked(tmp_path, story)


def test_a_tenant_sees_and_changes_its_own_list_alone(tmp_path: Path) -> None:
    async def story(stand: Stand) -> None:
        ours, theirs = [(await stand.road.tokens.make(name, tenant=name)).secret for name in "ab"]
        await stand.say("POST", PATH, {"recipient": "ann@example.com"}, token=ours)
        assert (await stand.say("GET", PATH, token=theirs)).json()["suppressions"] == []
        gone = await stand.say("DELETE", PATH, query={"recipient": "ann@example.com"}, token=theirs)
        assert gone.status == 404
        everywhere = {"recipient": "ann@example.com", "everywhere": True}
        for answer in (
            await stand.say("POST", PATH, everywhere, token=ours),
            await stand.say("DELETE", PATH, query=everywhere, token=ours),
            await stand.say("GET", PATH, query={"everywhere": True}, token=ours),
            await stand.say("POST", f"{PATH}:export", {"everywhere": True}, token=ours),
            await stand.say("POST", f"{PATH}:import", b"", query={"everywhere": True}, token=ours),
        ):
            assert answer.status == 403
        assert (await stand.say("POST", PATH, everywhere)).status == 201
        (found,) = (await stand.say("GET", PATH, query={"everywhere": True})).json()["suppressions"]
        assert found["tenant"] == "*"

    asked(tmp_path, story)


def test_a_file_goes_in_and_comes_out(tmp_path: Path) -> None:
    async def story(stand: Stand) -> None:
        file = b'{"recipient": "ann@example.com", "reason": "unsubscribed"}\n'
        done = await stand.say("POST", f"{PATH}:import", file, query={"format": "ndjson"})
        assert (done.status, done.json()["added"]) == (200, 1)
        bad = await stand.say(
            "POST", f"{PATH}:import", b"recipient\nnobody\n", query={"file": "my.csv"}
        )
        assert (bad.status, fields(bad)) == (400, ["line 2"])
        assert bad.json()["detail"].startswith("my.csv, line 2")
        out = await stand.say("POST", f"{PATH}:export", {"format": "csv"})
        head, line = out.content.decode().splitlines()
        assert head == "recipient,reason,at,campaign,message,note"
        assert line.startswith("ann@example.com,unsubscribed,20")
        assert out.headers["content-type"] == "text/csv"

    asked(tmp_path, story)


def test_commands_change_a_list_with_and_without_a_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with running(tmp_path, "up", "--listen", "127.0.0.1:0"):
        lists(tmp_path)
    lists(tmp_path)


def lists(folder: Path) -> None:
    """Add, import, list, export and remove."""
    file = folder / "list.csv"
    file.write_text("recipient,reason\n+6591234567,complaint\nbob@example.com,\n")
    said = postroad("suppression", "add", "Ann@Example.com", "--note", "by phone").stdout
    assert said == "suppressed: Ann@example.com (by_hand)\n"
    assert data("suppression", "import", str(file))["added"] == 2
    assert "0 added, 2 known before" in postroad("suppression", "import", str(file)).stdout
    page = data("suppression", "list", "--reason", "complaint")["suppressions"]
    assert [one["recipient"] for one in page] == ["+6591234567"]
    assert "by phone" in postroad("suppression").stdout
    lines = postroad("suppression", "export", "--format", "ndjson").stdout.splitlines()
    assert {json.loads(line)["recipient"] for line in lines} == {
        "Ann@example.com",
        "+6591234567",
        "bob@example.com",
    }
    for name in ("ann@example.com", "+6591234567", "bob@example.com"):
        assert postroad("suppression", "remove", name).stdout == "removed: 1\n"
    assert postroad("suppression", "remove", "ann@example.com").exit_code == 2
    assert data("suppression", "add", "all@example.com", "--everywhere")["tenant"] == "*"
    assert data("suppression", "remove", "all@example.com", "--everywhere") == {"count": 1}
    verbs = [line["verb"] for line in data("audit", "list", "--limit", "20")["lines"]]
    assert verbs.count("suppression_import") >= 2
