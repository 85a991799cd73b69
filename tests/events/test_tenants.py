"""Two tenants with swapped ids: every route of the description, asked by one with the ids of the other."""

import json
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from postroad import Send
from postroad.api.request import Request
from postroad.config import Settings
from postroad.model.credential import CredentialSpec
from postroad.verbs.endpoint_stats import EndpointStats
from tests.api.stand import Stand
from tests.webhook.conftest import LOCAL

MARK = "acmes-own"
"""In names, which the other tenant gives to things of its own."""
HIDDEN = "acmes-secret"
"""In what only the one tenant has written."""
URL = f"http://127.0.0.1:9/{MARK}"
OWN = {"/v1/event-types/{name}": "event types are the road's, for every tenant"}
NAMES = (MARK, "1", "acme", "order.paid")
"""What both tenants may call something."""
SECRET = "secret:"
"""Before what nobody is shown again."""
CHANGES = (
    ("/v1/replays/{id}/resume", "post"),
    ("/v1/replays/{id}/pause", "post"),
    ("/v1/endpoints/{id}/rotate", "post"),
    ("/v1/endpoints/{id}", "patch"),
    ("/v1/endpoints/{id}", "delete"),
)
"""What the one tenant would notice, were the guard away."""
ERASES = ("/v1/privacy:erase", "/v1/logout")
"""Asked last: they take the asker's own token away."""


async def _move_in(stand: Stand) -> dict[str, str]:
    """Give a tenant one of everything that has a name or an id; answers them by route."""
    road = stand.road
    made = await road.endpoints.create(URL, tenant="acme", description=HIDDEN)
    read = await road.endpoints.create(pull=True, tenant="acme", description=HIDDEN)
    event = await road.publish("order.paid", HIDDEN, tenant="acme")
    await road.webhooks.set(URL, tenant="acme", headers={HIDDEN: "1"})
    job = await road.send("bad", HIDDEN, tenant="acme")
    await road.run(until_idle=True)
    waiting = await road.send("good", HIDDEN, tenant="acme", delay=3_600)
    late = await road.endpoints.create(URL, tenant="acme", description=HIDDEN)
    replay = await road.replays.start("missed", endpoint=late.id, tenant="acme")
    await road.replays.pause(replay.id, tenant="acme")
    box = await road.mailboxes.create(tenant="acme")
    await road.credentials.put(MARK, CredentialSpec(""), "s" * 32, tenant="acme", kind="webhook")
    await road.campaigns.create(MARK, credential=MARK, template=HIDDEN, tenant="acme")
    token = await road.tokens.make(HIDDEN, tenant="acme")
    await road.tenants.create("acme", description=HIDDEN)
    code = (await road.sessions.login(HIDDEN, tenant="acme")).code
    session = await road.sessions.open(code)
    file = await road.attachments.put(HIDDEN.encode(), "a.txt", tenant="acme")
    link = await road.portal.link("acme")
    batch = await road.batch([Send("good", HIDDEN, tenant="acme", delay=3_600)])
    await road.timetables.create(MARK, "good", HIDDEN, every=3_600, tenant="acme")
    hidden = (
        made.secret,
        read.secret,
        late.secret,
        token.secret,
        session.secret,
        "s" * 32,
        link.path,
    )
    assert all(hidden), hidden
    return {
        **{f"secret {n}": SECRET + each for n, each in enumerate(hidden)},
        "/v1/batches": batch.id,
        "/v1/timetables": MARK,
        "/v1/endpoints": made.id,
        **dict.fromkeys(("/v1/endpoints/{id}/feed", "/v1/endpoints/{id}/ack"), read.id),
        "/v1/events": event.id,
        "/v1/replays": replay.id,
        "/v1/messages": waiting.id,
        "/v1/dead": job.id,
        "/v1/mailboxes": box.box,
        "/v1/credentials": MARK,
        "/v1/campaigns": MARK,
        "/v1/callbacks": MARK,
        "/v1/tokens": token.token.id,
        "/v1/tenants": "acme",
        "/v1/sessions": session.token.id,
        "/v1/portal-links": link.id,
        "/v1/privacy": "1",
        "/v1/attachments": file.id,
        "/v1/event-types": "order.paid",
        "/v1/limits": MARK,
        "/v1/rules": MARK,
        "/v1/suppressions": MARK,
    }


def _filled(path: str, ids: dict[str, str]) -> str:
    group = path if path in ids else "/".join(path.split("/")[:3]).partition(":")[0]
    return re.sub(r"\{[^}]*\}", ids.get(group, MARK), path.replace("{n}", "1"))


def _theirs(example: Any, ids: dict[str, str]) -> Any:
    """An example of a body, with the other tenant's names and ids in it."""
    swapped: dict[str, Any] = {"queue": URL, "url": URL, "name": MARK, "credential": MARK}
    swapped |= {"ids": [ids["/v1/messages"], ids["/v1/dead"]], "lane": 1, "recipient": URL}
    return {key: swapped.get(key, value) for key, value in example.items()}


async def _stored(stand: Stand) -> list[str]:
    pieces = [piece async for piece in stand.road.privacy.export(tenant="acme")]
    lines = [msgspec.json.decode(line) for line in b"".join(pieces).splitlines()]
    road, tenant = stand.road, "acme"
    made = (await road.endpoints.list(tenant=tenant)).endpoints
    facts: list[Any] = [
        await road.replays.list(tenant=tenant),
        made,  # among them how many secrets sign, and until when
        [
            (one.total.tries, one.waiting, one.died)
            for one in [await _stats(stand, e.id) for e in made]
        ],
        await road.sessions.list(tenant=tenant),
        await road.portal.list(tenant=tenant),
        await road.tokens.list(tenant=tenant),
        await road.batches.list(tenant=tenant),
        [(each.queue, each.paused) for each in (await road.inspect.queues(tenant=tenant)).queues],
    ]
    told = [json.dumps(line) for line in lines if line["kind"] not in ("audit", "about")]
    return told + [msgspec.json.encode(each).decode() for each in facts]


async def _stats(stand: Stand, number: str) -> EndpointStats:
    return await stand.road.endpoints.stats(number, tenant="acme")


async def _got(stand: Stand, path: str, token: str) -> str:
    return (await stand.say("GET", path, token=token)).content.decode(errors="replace")


async def _routes(stand: Stand) -> list[tuple[str, str, Any]]:
    document = (await stand.say("GET", "/v1/openapi.json")).json()
    found = [
        (path, method, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
        if path.startswith("/v1/") and path not in OWN
    ]
    return sorted(found, key=lambda one: one[0] in ERASES)


def _asked(operation: Any, ids: dict[str, str]) -> list[dict[str, str]]:
    """Queries with the other tenant's names: none, and each that a route takes, by itself."""
    names = {
        **dict.fromkeys(("queue", "url", "prefix", "recipient"), URL),
        **dict.fromkeys(("name", "campaign", "credential", "key", "list", "order_key"), MARK),
        "tenant": "acme",
        "lane": "1",
        "text": HIDDEN,
        "batch": ids["/v1/batches"],
    }
    takes = [one["name"] for one in operation.get("parameters", ()) if one["in"] == "query"]
    return [{}, *({one: names[one]} for one in takes if one in names)]


async def _breach(
    stand: Stand, route: tuple[str, str, Any], ids: dict[str, str], secret: str
) -> str:
    """What the other tenant sees or reaches of the one by a route, with all its ids: "" is nothing."""
    found = [await _seen(stand, route, query, ids, secret) for query in _asked(route[2], ids)]
    return next(filter(None, found), "")


async def _seen(
    stand: Stand,
    route: tuple[str, str, Any],
    query: dict[str, str],
    ids: dict[str, str],
    secret: str,
) -> str:
    path, method, operation = route
    content = operation.get("requestBody", {}).get("content", {}).get("application/json")
    data = _theirs(content["example"], ids) if content and "example" in content else None
    where = _filled(path, ids)
    said = await stand.say(method.upper(), where, data, token=secret, query=query)
    own = [each for each in ids.values() if each not in NAMES and not each.startswith(SECRET)]
    if said.status < 400 and not {*own, "acme"}.isdisjoint(re.split("[/:]", where)):
        return f"status {said.status}"
    seen = said.content.decode(errors="replace")
    secrets = [each.removeprefix(SECRET) for each in ids.values() if each.startswith(SECRET)]
    # An error repeats the id that was asked for.
    marks = (HIDDEN, *secrets, *(own if said.status < 300 else ()))
    return next((mark for mark in marks if mark in seen), "")


async def test_no_route_shows_or_changes_what_is_another_tenants(tmp_path: Path) -> None:
    async with Stand(tmp_path, Settings(webhooks=LOCAL)) as stand:
        ids = await _move_in(stand)
        secret = (await stand.road.tokens.make("other", tenant="other", role="tenant")).secret
        before = await _stored(stand)
        assert sum(HIDDEN in line for line in before) >= 6
        routes = await _routes(stand)
        for route in routes:
            assert not await _breach(stand, route, ids, secret), route[:2]
            assert await _stored(stand) == before, route[:2]
        assert len(routes) >= 80
        assert sum(len(_asked(operation, ids)) > 1 for _, _, operation in routes) >= 6
        # The check can fail: to the tenant itself these routes do show it.
        own_token = (await stand.road.tokens.make("own", tenant="acme")).secret
        shown = [
            path
            for path, method, _ in routes
            if method == "get" and HIDDEN in (await _got(stand, _filled(path, ids), own_token))
        ]
        assert len(shown) >= 6


async def test_without_the_guard_the_other_tenant_sees_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A token's tenant is the only guard of every route: the one that a request asks for is taken
    instead."""
    async with Stand(tmp_path, Settings(webhooks=LOCAL)) as stand:
        ids = await _move_in(stand)
        secret = (await stand.road.tokens.make("other", tenant="other", role="tenant")).secret
        monkeypatch.setattr(Request, "tenant", property(lambda _request: "acme"))
        every = await _routes(stand)
        routes = [route for route in every if route[1] == "get"]
        seen = {route[0] for route in routes if await _breach(stand, route, ids, secret)}
        assert {"/v1/endpoints", "/v1/endpoints/{id}", "/v1/events", "/v1/messages"} <= seen
        for path, method in CHANGES:
            (route,) = [each for each in every if each[:2] == (path, method)]
            before = await _stored(stand)
            assert await _breach(stand, route, ids, secret), (path, method)
            assert await _stored(stand) != before, (path, method)
