"""Commands for the audit log, roles and privacy, on a road that nobody runs."""

import asyncio
import json
import os
from pathlib import Path

import pytest

from postroad import Postroad
from postroad.model.credential import CredentialSpec
from tests.cli.running import data, postroad


def fill(road: str) -> None:
    async def send() -> None:
        ours = Postroad(road)

        @ours.handler("good")
        async def good(_message: object) -> None: ...

        async with ours:
            await ours.send("good", "a body", tenant="mine")
            await ours.send("good", "another's")

    asyncio.run(send())


def test_what_commands_change_is_listed_with_the_user_who_ran_them(road: str) -> None:
    fill(road)
    assert postroad("pause", "good").exit_code == 0
    assert postroad("resume", "good").exit_code == 0
    page = data("audit")
    assert [line["verb"] for line in page["lines"]] == ["resume_queue", "pause_queue"]
    who = {(line["actor"], line["name"].split()[0]) for line in page["lines"]}
    assert who == {("local", str(os.geteuid()))}
    shown = postroad("audit", "--verb", "pause_queue").stdout
    assert "queue=good" in shown
    assert "resume_queue" not in shown
    exported = postroad("audit", "export").stdout.splitlines()
    assert [json.loads(line)["id"] for line in exported] == [line["id"] for line in page["lines"]]
    assert postroad("audit", "--after", "x").exit_code == 2
    assert "export" in postroad("audit", "--help").stdout
    assert postroad("audit", "nonsense").exit_code == 2


def test_an_import_without_a_server_leaves_its_line_too(road: str, tmp_path: Path) -> None:
    async def draft() -> None:
        async with Postroad(road) as ours:
            await ours.credentials.put("main", CredentialSpec(""), "s" * 32, kind="webhook")
            await ours.campaigns.create("c", credential="main", template="{}")

    asyncio.run(draft())
    file = tmp_path / "people.csv"
    file.write_text("recipient\nhttps://example.com/a\n")
    assert data("campaign", "import", "c", str(file))["rows"] == 1
    (line,) = data("audit", "--verb", "campaign_import")["lines"]
    assert (line["what"], line["outcome"], line["count"]) == ({"name": "c"}, "done", 1)
    assert postroad("campaign", "import", "none", str(file)).exit_code == 2
    (line, _) = data("audit", "--verb", "campaign_import")["lines"]
    assert (line["what"], line["outcome"]) == ({"name": "none"}, "refused")


@pytest.mark.usefixtures("road")
def test_a_token_is_made_with_a_role() -> None:
    made = data("token", "make", "ops", "--role", "operate")
    assert made["token"]["role"] == "operate"
    assert "admin" not in made["token"]["scopes"]
    assert "operate" in postroad("token", "list").stdout
    assert postroad("token", "make", "x", "--role", "king").exit_code == 2


def test_a_tenant_is_exported_and_erased(road: str) -> None:
    fill(road)
    lines = postroad("privacy", "export", "--everything", "--tenant", "mine").stdout.splitlines()
    bodies = [json.loads(line)["body"] for line in lines if json.loads(line)["kind"] == "message"]
    assert bodies == ["a body"]
    unsure = postroad("privacy", "erase", "--everything", "--tenant", "mine", given="n\n")
    assert (unsure.exit_code, "nothing was erased" in unsure.stderr) == (2, True)
    done = data("privacy", "erase", "--everything", "--tenant", "mine", "--yes")
    assert done["erased"]["history"] == 1
    assert done["ended_at_ms"]
    left = postroad("privacy", "export", "--everything", "--tenant", "mine").stdout.splitlines()
    assert {json.loads(line)["kind"] for line in left} == {"audit"}
    assert "everything" in postroad("privacy", "list").stdout
    for words in (["erase", "--yes"], ["export"], ["export", "x", "--everything"]):
        assert postroad("privacy", *words).exit_code == 2
