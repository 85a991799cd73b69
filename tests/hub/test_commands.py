"""Mailboxes by command and by route, in every way that a command reaches its road."""

import asyncio
import re
import subprocess
from pathlib import Path

import pytest

from postroad.hub.access import new_box
from postroad.hub.client import HubClient
from postroad.model.mailbox import HubLimits
from tests.api.stand import Stand
from tests.cli.running import data, postroad, running, start
from tests.hub.serving import serving
from tests.servers.postgres import PrivatePostgres


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("POSTROAD_DSN", "POSTROAD_SERVER", "POSTROAD_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


async def _exchange(url: str, box: dict[str, str]) -> str:
    async with HubClient(url) as client:
        await client.subscribe({box["box"]: box["recipient_token"]})
        await client.send(box["box"], box["sender_token"], "over the wire")
        message = await asyncio.wait_for(anext(client), 60)
        assert await message.ack()
        return message.text


def test_up_serves_a_hub_and_commands_reach_its_mailboxes(folder: Path) -> None:
    with running(folder, "up", "--listen", "127.0.0.1:0") as (process, _):
        assert process.stdout is not None
        url = ""
        while not url:
            line = process.stdout.readline()
            assert line
            if found := re.search(r"The hub at (ws://\S+)", line):
                url = found[1]
        box = data("mailbox", "create", "--quota", "2")
        assert box["quota"] == 2
        assert asyncio.run(_exchange(url, box)) == "over the wire"
        queue = f"hub://{url.removeprefix('ws://')}/{box['box']}"
        sent = data("send", queue, '"by the engine"')
        assert sent["id"]
        listed = data("mailbox", "list")
        assert [row["box"] for row in listed["mailboxes"]] == [box["box"]]

        async def received() -> str:
            async with HubClient(url) as client:
                await client.subscribe({box["box"]: box["recipient_token"]})
                message = await asyncio.wait_for(anext(client), 60)
                explained = await asyncio.to_thread(data, "mailbox", "explain", box["box"])
                assert explained["state"] == "waiting for ack"
                stats = await asyncio.to_thread(data, "mailbox", "stats")
                assert (stats["subscriptions"], stats["unacked"]) == (1, 1)
                return message.text

        assert asyncio.run(received()) == '"by the engine"'
        assert data("mailbox", "delete", box["box"]) == {"deleted": box["box"]}
        gone = postroad("mailbox", "explain", box["box"])
        assert gone.exit_code == 2
        assert "no mailbox" in gone.output
    assert process.wait(60) == 0


def test_hub_alone_serves_and_stops(folder: Path) -> None:
    with running(folder, "hub") as (process, _):
        box = data("mailbox", "create")
        assert "waiting" in str(data("mailbox", "explain", box["box"]))
        told = postroad("mailbox", "stats")
        assert "subscriptions" in told.output
    assert process.wait(60) == 0


def _until(process: "subprocess.Popen[str]", words: str) -> str:
    assert process.stdout is not None
    seen = ""
    while words not in seen:
        line = process.stdout.readline()
        assert line, seen
        seen += line
    return seen


@pytest.mark.wide
def test_in_a_fleet_one_process_is_the_hub(
    folder: Path, server: PrivatePostgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("POSTROAD_KEYS", postroad("keys", "new").stdout.strip())
    dsn = server.create_database()
    first = start(folder, "hub", "--dsn", dsn)
    try:
        _until(first, "The hub at")
        assert data("mailbox", "create", "--dsn", dsn)["box"]
        second = postroad("hub", "--dsn", dsn)
        assert second.exit_code == 3
        assert "has a hub already" in second.output
        beside = start(folder, "up", "--dsn", dsn, "--listen", "127.0.0.1:0")
        try:
            assert "No hub here" in _until(beside, "Ctrl+C stops")
        finally:
            beside.terminate()
            beside.communicate(timeout=60)
    finally:
        first.terminate()
        first.communicate(timeout=60)
    assert first.returncode == 0


def test_no_mailbox_has_a_name_that_a_command_takes_for_an_option() -> None:
    """One of 64 did begin with a dash."""
    names = [new_box(HubLimits())[0].name for _ in range(2_000)]
    assert not [name for name in names if name.startswith("-")]
    assert len(set(names)) == 2_000


def test_without_a_server_commands_open_the_store(folder: Path) -> None:
    with running(folder, "hub"):
        first = data("mailbox", "create")
    second = data("mailbox", "create")
    boxes = {row["box"] for row in data("mailbox", "list")["mailboxes"]}
    assert boxes == {first["box"], second["box"]}
    told = postroad("mailbox", "stats")
    assert told.exit_code == 3
    assert "postroad hub" in told.output


async def test_routes_keep_tenants_apart_and_say_what_is_wrong(tmp_path: Path) -> None:
    async with Stand(tmp_path) as stand:
        made = await stand.say("POST", "/v1/mailboxes", {})
        assert made.status == 201
        box = made.json()["box"]
        other = {"postroad-tenant": "other"}
        assert (await stand.say("GET", f"/v1/mailboxes/{box}", headers=other)).status == 404
        assert (await stand.say("DELETE", f"/v1/mailboxes/{box}", headers=other)).status == 404
        assert (await stand.say("GET", "/v1/mailboxes", headers=other)).json()["mailboxes"] == []
        for wrong in ({"quota": 0}, {"quota": "x"}, {"ttl_s": -1}, {"colour": "red"}):
            assert (await stand.say("POST", "/v1/mailboxes", wrong)).status == 400
        assert (await stand.say("GET", "/v1/mailboxes?limit=0")).status in (400, 404)
        assert (await stand.say("GET", "/v1/hub")).status == 503
        async with serving(tmp_path, store=stand.road.store) as served:  # type: ignore[arg-type]
            stand.road.mailboxes.hub = served.hub
            async with served.client() as client:
                await client.subscribe({box: made.json()["recipient_token"]})
                assert (await stand.say("GET", "/v1/hub")).json()["subscriptions"] == 1
                metrics = (await stand.say("GET", "/metrics")).content.decode()
                assert 'postroad_hub{what="subscriptions"} 1.0' in metrics
                assert 'postroad_hub{what="oldest_unacked_s"} 0.0' in metrics
            stand.road.mailboxes.hub = None
        assert (await stand.say("POST", "/v1/mailboxes", {}, token="")).status == 401
        page = await stand.say("GET", "/v1/mailboxes", query={"limit": 1})
        assert [row["box"] for row in page.json()["mailboxes"]] == [box]
        assert (await stand.say("DELETE", f"/v1/mailboxes/{box}")).status == 204
        assert (await stand.say("GET", f"/v1/mailboxes/{box}")).status == 404
