"""Commands that show events, event types and endpoints, as people and as programs read them."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from postroad import Postroad
from postroad.config import Settings
from tests.cli.running import data, postroad
from tests.webhook.conftest import LOCAL, Receiver
from tests.webhook_requests.authority import Authority

DSN = "sqlite:///road.db"
HOOK = "https://1.1.1.1/hook"


async def run(*words: str) -> Any:
    return await asyncio.to_thread(data, *words, "--dsn", DSN)


async def read(*words: str, code: int = 0) -> str:
    """What people see."""
    said = await asyncio.to_thread(postroad, *words, "--dsn", DSN)
    assert said.exit_code == code, said.output
    return said.output


def write(path: Path, text: str) -> None:
    _ = path.write_text(text)


async def test_an_event_is_shown_and_what_nobody_wanted_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with Postroad(DSN) as road:
        assert "every event was matched" in await read("event", "unmatched")
        await road.endpoints.create(HOOK, types=("order.*",), channels=("eu",))
        got = await road.publish("order.paid", {"n": 7}, channels=("eu",))
        lost = [await road.publish("refund.made", {"n": n}) for n in range(2)]
        shown = await run("event", "show", got.id)
        assert (shown["type"], shown["body"], shown["channels"]) == ("order.paid", {"n": 7}, ["eu"])
        assert shown["messages"] == list(got.messages)
        text = await read("event", "show", got.id)
        for word in (got.id, got.messages[0], '{"n": 7}', "eu"):
            assert word in text
        assert "none: no endpoint matched" in await read("event", "show", lost[0].id)
        assert "no event" in await read("event", "show", "evt_0000000000000", code=2)
        assert (await run("event", "unmatched"))["types"] == [
            {"type": "refund.made", "count": 2, "last": lost[1].id}
        ]
        table = await read("event", "unmatched")
        assert "refund.made" in table
        assert lost[1].id in table


async def test_event_types_are_listed_shown_exported_and_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with Postroad(DSN) as road:
        assert "there are no event types" in await read("event-type", "list")
        schema: dict[str, Any] = {"type": "object", "required": ["id"]}
        await road.event_types.set("order.paid", description="An order was paid", schema=schema)
        await road.event_types.set("order.old", archived=True)
        assert [one["name"] for one in (await run("event-type", "list"))["event_types"]] == [
            "order.paid"
        ]
        every = await read("event-type", "list", "--archived")
        assert "order.old" in every
        assert "An order was paid" in every
        shown = await run("event-type", "show", "order.paid")
        assert (shown["description"], shown["schema"]) == ("An order was paid", schema)
        assert '"required": ["id"]' in await read("event-type", "show", "order.paid")
        assert "refund" in await read("event-type", "show", "refund", code=2)
        told = await read("endpoint", "create", HOOK, "--type", "order.payd")
        assert "this road has no event types order.payd" in told
        number = told.partition("ep_")[2].split()[0]
        assert "unknown types" in await read("endpoint", "show", f"ep_{number}")
        document = json.loads(await read("event-type", "export"))
        assert "order.paid" in document["webhooks"]
    (tmp_path / "types.json").write_text(json.dumps(document))
    (tmp_path / "none.json").write_text('{"openapi": "3.1.0"}')
    (tmp_path / "road.db").rename(tmp_path / "old.db")
    async with Postroad(DSN) as road:
        assert "describes no webhooks" in await read("event-type", "import", "none.json", code=2)
        brought = await run("event-type", "import", "types.json")
        assert [one["name"] for one in brought["event_types"]] == ["order.paid"]
        assert "order.paid" in await read("event-type", "import", "types.json")
        assert (await road.event_types.get("order.paid")).schema == schema


async def test_endpoints_are_listed_shown_and_recovered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, receiver: Receiver
) -> None:
    monkeypatch.chdir(tmp_path)
    async with Postroad(DSN, settings=Settings(webhooks=LOCAL)) as road:
        assert "there are no endpoints" in await read("endpoint", "list")
        bad = await road.endpoints.create(
            receiver.url("/status/400"), types=("order.*",), reject=(400,), description="theirs"
        )
        read_only = await road.endpoints.create(pull=True, types=("refund.*",))
        page = await run("endpoint", "list", "--limit", "1")
        assert ([one["id"] for one in page["endpoints"]], page["after"]) == ([bad.id], bad.id)
        rest = await read("endpoint", "list", "--after", page["after"])
        assert read_only.id in rest
        assert "(pull)" in rest
        assert bad.id not in rest
        shown = await run("endpoint", "show", bad.id)
        assert (shown["types"], shown["reject"], shown["secrets"]) == (["order.*"], [400], 1)
        text = await read("endpoint", "show", bad.id)
        assert "theirs" in text
        assert bad.secret not in text
        assert "no endpoint" in await read("endpoint", "show", "ep_0000000000000", code=2)
        (message,) = (await road.publish("order.paid", 1)).messages
        await road.run(until_idle=True)
        assert (await road.explain(message)).state == "dead"
        since = ("--since", "2020-01-01T00:00:00Z")
        told = await read("endpoint", "recover", bad.id, *since, "--dry-run")
        assert told.startswith("1 messages would be sent again, dead since 2020-01-01")
        begun = await run("endpoint", "recover", bad.id, *since)
        assert begun["messages"] == 1
        assert (await road.replays.get(begun["replay"])).total == 1


async def test_each_option_of_an_endpoint_is_heard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ca.pem").write_text(Authority("ours").pem)
    async with Postroad(DSN):
        named = ("--channel", "eu", "--channel", "us", "--shape", "cloudevents")
        given = ("--transform", "slim", "--expires-in", "1h", "--ca", "ca.pem")
        made = await run("endpoint", "create", HOOK, *named, *given, "--tenant", "acme")
        assert (made["channels"], made["shape"]) == (["eu", "us"], "cloudevents")
        assert (made["transform"], made["own_ca"]) == ("slim", True)
        assert 3_500_000 < made["expires_at_ms"] - made["made_at_ms"] <= 3_600_000
        of_it = (made["id"], "--tenant", "acme")
        moved = await run("endpoint", "set", *of_it, "--url", f"{HOOK}/2", "--transform", "none")
        assert (moved["url"], moved["transform"]) == (f"{HOOK}/2", "")
        never = await run("endpoint", "set", *of_it, "--expires-in", "0s", "--certificate", "none")
        assert (never["expires_at_ms"], never["own_ca"]) == (None, False)
        turned = await run("endpoint", "rotate", *of_it, "--overlap", "2d")
        assert turned["secret_ends_at_ms"] > turned["made_at_ms"] + 1.9 * 86_400_000
        words = ("endpoint", "disable", *of_it, "--operator", "--reason", "abuse")
        assert (await run(*words))["disabled_by"] == "operator"
        assert "disabled by operator: abuse" in await read("endpoint", "show", *of_it)
        assert "disabled by operator" in await read("endpoint", "list", "--tenant", "acme")
        assert "an operator" in await read("endpoint", "enable", *of_it, code=1)
        assert (await run("endpoint", "enable", *of_it, "--operator"))["state"] == "enabled"
        (tmp_path / "schema.json").write_text('{"type": "integer"}')
        await run("event-type", "set", "order.paid", "--schema", "schema.json", "--warn")
        assert (await run("event", "publish", "order.paid", '"x"'))["problems"]


async def test_rules_statistics_and_feeds_take_their_options(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with Postroad(DSN) as road:
        set_ = ("--dead-every", "0s", "--drain", "7/s", "--hold-max", "9", "--everywhere")
        await run("endpoint", "rules", *set_)
        said = await run("endpoint", "rules", "--tenant", "acme")
        assert (said["dead_every_s"], said["drain"], said["hold_max"]) == (0, "7/s", 9)
        made = await run("endpoint", "create", "--pull")
        assert (await read("endpoint", "stats", made["id"], "--by", "day")).startswith("day")
        await road.publish("order.paid", 1)
        (one,) = (await run("endpoint", "feed", made["id"], "--lease", "5min"))["messages"]
        assert (await run("endpoint", "feed", made["id"]))["messages"] == [], "it is leased"
        assert (await run("endpoint", "ack", made["id"], one["id"]))["acked"]


async def test_a_body_is_published_as_it_is_written_or_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    exact = '{"n": 123456789012345678901.10, "a": 1, "a": 2}'
    async with Postroad(DSN) as road:
        for body in ("NaN", '{"a": Infinity}', "[-Infinity]", "1e999", '{"a": [1e999]}', "{"):
            assert "the body is not JSON" in await read("event", "publish", "a", body, code=2)
        for body in ('{"a": "\\ud800"}', '{"a": "\\ud800 and some more text"}'):
            said = " ".join((await read("event", "publish", "a", body, code=2)).split())
            assert "half of a surrogate pair" in said
            assert "UTF-8" not in said
        assert not (await road.events.list()).events
        sent = await run("event", "publish", "a", exact)
        assert (await road.events.get(sent["id"])).body == exact.encode()


async def test_numbers_that_json_has_not_are_refused_in_options_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "schema.json", '{"maximum": NaN}')
    write(tmp_path / "auth.json", '{"type": "bearer", "token": Infinity}')
    async with Postroad(DSN) as road:
        given = ("endpoint", "create", HOOK)
        assert "JSON" in await read(*given, "--filter", '{"n": {"$gt": -1e999}}', code=2)
        assert "JSON" in await read(*given, "--auth", "auth.json", code=2)
        assert "JSON" in await read("event-type", "set", "a", "--schema", "schema.json", code=2)
        assert not (await road.endpoints.list()).endpoints
        assert not (await road.event_types.list()).event_types
