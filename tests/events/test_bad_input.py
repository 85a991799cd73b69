"""What cannot be is refused by name in Python, over HTTP and by a command alike, and nothing of it is
stored."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec import Struct

from postroad import ClientTls, OAuthClient, Postroad
from postroad.config import Settings
from postroad.errors import PostroadError
from postroad.model.endpoint import OPERATOR
from postroad.model.problem import kind as kind_of
from postroad.remote.api_request import ApiAnswer
from tests.api.stand import Stand, kind
from tests.cli.running import postroad
from tests.webhook.conftest import LOCAL
from tests.webhook_requests.authority import Authority
from tests.webhook_requests.servers import TokenServer, serving

HOOK = "http://127.0.0.1:9/hook"
TLS_HOOK = "https://127.0.0.1:9/hook"
OWN = "http://127.0.0.1:8600/v1/events"
SCHEMA: dict[str, Any] = {"properties": {"lines": {"items": {"required": ["id"]}}}}
OTHER: dict[str, Any] = {"$ref": "https://example.com/other.json"}
SINCE = datetime(2026, 1, 1, tzinfo=UTC)
CERTIFICATE, KEY = Authority("ours").certificate("us")
OLD, OLD_KEY = Authority("ours").certificate("old", days=-1)
TOML = '[webhooks]\nallow = ["127.0.0.0/8"]\nhttp = true\nports = []\n'
Say = Callable[[Any], Any]


class Refused(Struct, frozen=True):
    """Something that is refused: by which name, with which words, and how each door asks for it."""

    name: str
    words: str
    python: Say
    path: str
    data: dict[str, Any]
    command: tuple[str, ...]
    tenant: str = "default"


def endpoint(
    name: str,
    words: str,
    options: dict[str, Any],
    flags: tuple[str, ...],
    url: str = HOOK,
    **more: Any,
) -> Refused:
    """An endpoint that cannot be made."""
    data = {"url": url, **msgspec.to_builtins(options)}

    def create(road: Postroad) -> Any:
        return road.endpoints.create(url, tenant=more.get("tenant", "default"), **options)

    words_of = ("endpoint", "create", url, *flags)
    return Refused(name, words, create, "/v1/endpoints", data, words_of, **more)


def filtered(words: str, given: object) -> Refused:
    return endpoint("bad-filter", words, {"filter": given}, ("--filter", json.dumps(given)))


def event(name: str, words: str, type_: str, body: object, tenant: str = "default") -> Refused:
    """An event that is not published."""
    data = {"type": type_, "body": body}
    command = ("event", "publish", type_, json.dumps(body))
    return Refused(
        name,
        words,
        lambda road: road.publish(type_, body, tenant=tenant),
        "/v1/events",
        data,
        command,
        tenant,
    )


def deep(levels: int) -> dict[str, Any]:
    return {"not": deep(levels - 1)} if levels else {"/a": 1}


def cases(tokens: str) -> Iterator[Refused]:
    lines = {"lines": [{"id": 1}, {}]}
    yield event("schema-mismatch", "/lines/1: ", "order.paid", lines)
    yield event("unknown-event-type", "did you mean 'order.paid'", "order.payd", {})
    yield event("event-type-archived", "archived", "order.old", {})
    yield event("bad-input", "operational events", "endpoint.failing", {}, OPERATOR)
    yield filtered("at most 8 levels", deep(10))
    yield filtered("more than 100 conditions", {f"/{n}": n for n in range(101)})
    yield filtered("at most 8192", {"/a": {"in": ["x" * 9_000]}})
    yield filtered("neither a JSON pointer", {"total": 1})
    yield endpoint("bad-input", "order.* or *", {"types": ["*.paid"]}, ("--type", "*.paid"))
    yield endpoint("bad-url", "this road itself", {}, (), OWN)
    yield endpoint("bad-url", "this road itself", {}, (), OWN, tenant=OPERATOR)
    alone = ClientTls(certificate=CERTIFICATE)
    yield endpoint(
        "bad-input", "key is missing", {"tls": alone}, ("--certificate", "crt"), TLS_HOOK
    )
    both = ("--certificate", "us.crt", "--certificate-key", "us.key")
    yield endpoint("bad-input", "at http://", {"tls": ClientTls(CERTIFICATE, KEY)}, both)
    yield endpoint("bad-input", "whsec_ and 24", {"secret": "no base64"}, ("--secret", "no base64"))
    old = ("--certificate", "old.crt", "--certificate-key", "old.key")
    yield endpoint("bad-input", "expired", {"tls": ClientTls(OLD, OLD_KEY)}, old, TLS_HOOK)
    client = OAuthClient(tokens, "ours", "a secret that has expired")
    yield endpoint("bad-input", "refuses the client", {"auth": client}, ("--auth", "auth.json"))
    yield Refused(
        "nothing-to-replay",
        "nothing was started",
        lambda road: road.replays.start(since=SINCE),
        "/v1/replays",
        {"since": SINCE.isoformat()},
        ("replay", "start", "--since", SINCE.isoformat()),
    )
    yield Refused(
        "bad-schema",
        "none is fetched",
        lambda road: road.event_types.set("order.new", schema=OTHER),
        "/v1/event-types",
        {"name": "order.new", "schema": OTHER},
        ("event-type", "set", "order.new", "--schema", "schema.json"),
    )


@asynccontextmanager
async def standing(folder: Path) -> AsyncIterator[tuple[Stand, list[Refused]]]:
    """A road with two event types, and what it refuses; nothing may be stored when it ends."""
    with serving() as made:
        tokens = TokenServer(made)
        given = list(cases(f"{made.url}/token"))
        files = {"crt": CERTIFICATE, "old.crt": OLD, "old.key": OLD_KEY, "postroad.toml": TOML}
        files |= {"us.crt": CERTIFICATE, "us.key": KEY}
        oauth = next(one.data["auth"] for one in given if "auth" in one.data)
        files |= {"auth.json": json.dumps(oauth), "schema.json": json.dumps(OTHER)}
        for name, text in files.items():
            (folder / name).write_text(text)
        async with Stand(folder, Settings(webhooks=LOCAL)) as stand:
            await stand.road.event_types.set("order.paid", schema=SCHEMA)
            await stand.road.event_types.set("order.old", archived=True)
            yield stand, given
            for tenant in ("default", OPERATOR):
                assert (await stand.road.endpoints.list(tenant=tenant)).endpoints == ()
                assert (await stand.road.events.list(tenant=tenant)).events == ()
                assert (await stand.road.replays.list(tenant=tenant)).replays == ()
            assert len((await stand.road.event_types.list()).event_types) == 2
            queues = (await stand.road.inspect.queues()).queues
            assert {one.transport for one in queues} == {"handler"}
        assert tokens.given == 0


async def test_python_refuses_it_by_name(tmp_path: Path) -> None:
    async with standing(tmp_path) as (stand, given):
        for one in given:
            with pytest.raises(PostroadError) as told:
                await one.python(stand.road)
            assert kind_of(type(told.value)).rpartition(":")[2] == one.name, one
            assert one.words in str(told.value), one
            assert "has expired" not in str(told.value)


async def test_http_refuses_it_by_name(tmp_path: Path) -> None:
    async with standing(tmp_path) as (stand, given):
        for one in given:
            headers = {"postroad-tenant": one.tenant}
            said: ApiAnswer = await stand.say("POST", one.path, one.data, headers=headers)
            assert (kind(said), 400 <= said.status < 500) == (one.name, True), one
            assert one.words in said.json()["detail"], one
            assert "has expired" not in str(said.json())


async def test_a_command_refuses_it_by_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    async with standing(tmp_path) as (_, given):
        for one in given:
            more: tuple[str, ...] = ("--tenant", one.tenant, "--dsn", "sqlite:///road.db")
            if one.path == "/v1/event-types":
                more = more[2:]
            said = await asyncio.to_thread(postroad, *one.command, *more)
            assert said.exit_code == 2, (one, said.output)
            assert one.words in " ".join(said.output.split()), (one, said.output)
            assert "has expired" not in said.output
