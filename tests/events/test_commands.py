"""The commands of endpoints, event types, events and replays, and URLs that lead back to the road."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from postroad import Postroad
from postroad.config import Settings
from postroad.errors import BadInput, BadUrl
from postroad.model.access import BasicAuth
from postroad.model.endpoint import OPERATOR
from postroad.model.mail_settings import MailSettings
from tests.cli.running import data, postroad
from tests.webhook.conftest import LOCAL

HOOK = "https://1.1.1.1/hook"
SECRET = "whsec_MTExMTExMTExMTExMTExMTExMTExMTEx"
LADDER = {"type": "steps", "retries": 1, "delays_ms": [1000]}
OPTIONS = (
    *("--secret", SECRET, "--ladder", json.dumps(LADDER), "--rate", "5/s", "--timeout", "9s"),
    *("--connect-timeout", "2s", "--keep-bodies", "1h", "--ordered", "--reject", "404"),
    *("--type", "order.*", "--metadata", "plan=gold"),
)


async def run(*words: str) -> Any:
    return await asyncio.to_thread(data, *words, "--dsn", "sqlite:///road.db")


async def test_endpoints_and_replays_by_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with Postroad("sqlite:///road.db") as road:
        made = await run("endpoint", "create", HOOK, *OPTIONS)
        assert (made["secret"], made["ladder"], made["ordered"]) == (SECRET, LADDER, True)
        assert (made["rate"], made["timeout_ms"], made["connect_timeout_ms"]) == (
            "5/s",
            9_000,
            2_000,
        )
        assert made["keep_bodies_ms"] == 3_600_000
        number = made["id"]
        await run("event-type", "set", "order.paid", "--description", "paid")
        said = await run("event", "publish", "order.paid", '{"n": 1}')
        assert len(said["messages"]) == 1
        assert [one["id"] for one in (await run("event", "list"))["events"]] == [said["id"]]
        assert (await run("endpoint", "set", number, "--rate", "7/s"))["rate"] == "7/s"
        assert (await run("endpoint", "disable", number))["state"] == "disabled"
        assert (await run("endpoint", "enable", number))["state"] == "enabled"
        assert (await run("endpoint", "rotate", number))["secret"] != SECRET
        assert (await run("endpoint", "stats", number))["waiting"] == 1
        late = await run("endpoint", "create", "--pull")
        job = await run("replay", "start", "--what", "missed", "--endpoint", late["id"])
        for verb, state in (("pause", "paused"), ("resume", "running"), ("cancel", "cancelled")):
            assert (await run("replay", verb, job["id"]))["state"] == state
        assert (await run("replay", "show", job["id"]))["total"] == 1
        assert [one["id"] for one in (await run("replay", "list"))["replays"]] == [job["id"]]
        await run("endpoint", "delete", number)
        left = (await road.endpoints.list()).endpoints
        assert [one.id for one in left] == [late["id"]]
        bad = await asyncio.to_thread(postroad, "endpoint", "create", HOOK, "--ladder", "{")
        assert "--ladder is not JSON" in bad.output


async def test_an_endpoint_at_the_roads_own_api_is_refused_by_name(tmp_path: Path) -> None:
    mail = MailSettings(public_url="https://road.example.com")
    settings = Settings(webhooks=LOCAL, allowed_hosts=("ops.example.com",), mail=mail)
    async with Postroad(f"sqlite:///{tmp_path}/road.db", settings=settings) as road:
        own = ("http://127.0.0.1:8600/v1/events", "http://localhost:8600/", "http://[::1]:8600/x")
        named = ("https://ops.example.com/v1/events", "https://road.example.com/v1/messages")
        for url in (*own, *named):
            for tenant in ("default", OPERATOR):
                with pytest.raises(BadUrl, match="is this road itself"):
                    await road.endpoints.create(url, tenant=tenant)
        made = await road.endpoints.create("http://127.0.0.1:8700/v1/events")
        with pytest.raises(BadUrl, match="is this road itself"):
            await road.endpoints.change(made.id, url=own[0])
        assert len((await road.endpoints.list()).endpoints) == 1
        with pytest.raises(BadInput, match="colon"):
            await road.endpoints.change(made.id, auth=BasicAuth("a:b", "secret"))
