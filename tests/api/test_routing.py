"""Routes: how requests find them, what is refused before them, and how they are described."""

import asyncio
import itertools
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Annotated, Any

import pytest
from msgspec import Meta

from postroad.api.app import ROUTES
from postroad.api.in_process import ask
from postroad.api.problems import BadRequest
from postroad.api.request import Request, Stream
from postroad.api.routing import PARAMETERS_MAX, Facts, Route, read_query
from postroad.model.errors import BodyTooLarge, HubError
from postroad.model.tokens import Scope
from postroad.remote.api_request import ApiAnswer, ApiRequest, part
from tests.api.stand import Stand, fields, kind


async def test_other_methods_are_refused_with_those_that_there_are(stand: Stand) -> None:
    refused = await stand.say("PUT", "/v1/dead")
    assert (refused.status, kind(refused)) == (405, "method-not-allowed")
    assert refused.headers["allow"] == "GET, HEAD, OPTIONS"
    allowed = await stand.say("OPTIONS", "/v1/messages/msg_1")
    assert (allowed.status, allowed.content) == (204, b"")
    assert allowed.headers["allow"] == "DELETE, GET, HEAD, OPTIONS"
    nowhere = await stand.say("GET", "/v1/" + "x" * 5_000)
    assert (nowhere.status, kind(nowhere)) == (404, "not-found")
    assert len(nowhere.content) < 1_000


async def test_a_slash_at_the_end_is_as_none(stand: Stand) -> None:
    assert (await stand.say("GET", "/v1/queues/")).status == 200
    assert (await stand.say("GET", "/v1//queues")).status == 404
    assert (await stand.say("GET", "/v1%2Fqueues")).status == 404


async def test_an_address_may_be_escaped(stand: Stand) -> None:
    """Many clients write a colon in a path as %3A."""
    explained = await stand.say("GET", "/v1/queues%3Aexplain", query={"queue": "good"})
    assert explained.status == 200


async def test_a_callback_about_something_else_is_a_strangers(stand: Stand) -> None:
    for key in ("x", "cmp_x_1", "cmp_1_", "cmp_1_" + "9" * 300, "msg_x"):
        assert (await stand.say("POST", f"/v1/callbacks/{key}", b"")).status == 403, key


async def test_a_query_has_a_bound_on_its_parameters(
    stand: Stand, monkeypatch: pytest.MonkeyPatch
) -> None:
    many = {f"a{n}": "1" for n in range(PARAMETERS_MAX + 1)}
    assert "at most 100" in (await stand.say("GET", "/v1/queues", query=many)).json()["detail"]
    text = b"&".join([b"a=1"] * (PARAMETERS_MAX + 1))
    with pytest.raises(BadRequest):
        read_query(text)
    monkeypatch.setattr("postroad.api.routing.PARAMETERS_MAX", 1_000)
    assert len(read_query(text)) == PARAMETERS_MAX + 1


async def test_every_route_is_described_once(stand: Stand) -> None:
    document = (await stand.say("GET", "/v1/openapi.json", token="")).json()
    described = {
        f"{method.upper()} {path}": operation
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    }
    assert set(described) == {f"{route.method} {route.path}" for route in ROUTES}
    names = [operation["operationId"] for operation in described.values()]
    assert len(set(names)) == len(names)
    assert {"POST /v1/callbacks/{key}", "GET /metrics"} < set(described)
    assert "text/csv" in described["GET /v1/campaigns/{name}/export"]["responses"]["200"]["content"]
    assert described["GET /healthz"]["security"] == []


def test_a_parameter_of_a_type_that_cannot_be_read_fails_when_it_is_declared() -> None:
    async def handler(request: Request, odd: Annotated[str | None, Meta(min_length=1)]) -> None: ...

    with pytest.raises(TypeError):
        Route("GET", "/odd", handler, Facts(None))


async def test_a_body_is_read_up_to_its_bound(stand: Stand) -> None:
    events = [{"type": "http.request", "body": b"12345", "more_body": True}] * 2

    async def receive() -> Any:
        return events.pop() if events else {"type": "http.disconnect"}

    scope = {"method": "POST", "path": "/", "raw_path": b"/", "query_string": b"", "headers": []}
    request = Request(scope, receive, stand.context)
    request.body_bytes_max = 9
    with pytest.raises(BodyTooLarge, match="9 bytes"):
        await request.body()
    request.body_bytes_max = 10
    with pytest.raises(BadRequest, match="broke off"):
        await request.body()


async def test_an_answer_in_pieces_ends_when_its_client_is_gone(stand: Stand) -> None:
    """A batch of a million lines must not go on for nobody."""
    gone, ended = asyncio.Event(), asyncio.Event()
    sent: list[Any] = []

    async def pieces() -> AsyncIterator[bytes]:
        try:
            yield b"first"
            await asyncio.Event().wait()
        finally:
            ended.set()

    async def receive() -> Any:
        await gone.wait()
        return {"type": "http.disconnect"}

    async def send(event: Any) -> None:
        sent.append(event)
        if event.get("body") == b"first":
            gone.set()

    scope = {"method": "GET", "path": "/", "raw_path": b"/", "query_string": b"", "headers": []}
    request = Request(scope, receive, stand.context)
    await stand.app._stream(Stream(pieces(), "text/plain"), request, send)
    assert ended.is_set()
    assert [event.get("body") for event in sent] == [None, b"first"]


PUBLIC = {
    "GET /unsubscribe",
    "POST /unsubscribe",
    "GET /healthz",
    "GET /readyz",
    "GET /metrics",
    "GET /v1/openapi.json",
    "GET /docs",
    "GET /docs/style.css",
    "POST /v1/callbacks/{key}",
    "POST /v1/callbacks/{owner}/{name}",
    "POST /v1/sessions",
    "POST /v1/portal-sessions",
}
"""Routes that ask for no token; what they tell or take is meant for strangers."""


async def test_every_route_asks_for_a_token_with_its_scope_or_is_public(stand: Stand) -> None:
    tokens = {
        scope: (await stand.road.tokens.make("all but one", scopes=set(Scope) - {scope})).secret
        for scope in Scope
    }
    for route in ROUTES:
        scope, path = route.facts.scope, re.sub(r"\{\w+\}", "1", route.path)
        if f"{route.method} {route.path}" in PUBLIC:
            assert scope is None
            continue
        if route.facts.any_scope:
            assert (await stand.say(route.method, path, token="")).status == 401, route.path
            continue
        assert scope is not None, route.path
        for method in (route.method, *(("HEAD",) if route.method == "GET" else ())):
            assert (await stand.say(method, path, token="")).status == 401, route.path
            assert (await stand.say(method, path, token=tokens[scope])).status == 403, route.path


def test_no_path_has_two_routes() -> None:
    """A path's values are those of one template: two that match the same path would mix them."""
    for one, other in itertools.combinations({route.parts for route in ROUTES}, 2):
        pairs = list(zip(one, other, strict=False))
        same = len(one) == len(other) and all(a == b or "{" in a + b for a, b in pairs)
        assert not same, (one, other)


@pytest.mark.parametrize("name", ["a/b", "a/", "/", "50%2F", "ö/ü 1", "..", "a?b#c"])
async def test_a_name_in_a_path_may_have_any_letters(stand: Stand, name: str) -> None:
    secret = {"name": name, "kind": "webhook", "secret": "whsec_" + "A" * 32}
    assert (await stand.say("POST", "/v1/credentials", secret)).status == 201
    campaign = {"name": name, "credential": name, "template": "hi"}
    assert (await stand.say("POST", "/v1/campaigns", campaign)).status == 201
    shown = await stand.say("GET", f"/v1/campaigns/{part(name)}")
    assert (shown.status, shown.json()["name"]) == (200, name)
    assert (await stand.say("GET", f"/v1/campaigns/{part(name)}/counts")).status == 200


async def test_head_is_answered_as_get_without_a_body(stand: Stand) -> None:
    for path in ("/healthz", "/v1/queues", "/v1/messages/msg_1"):
        got, head = await stand.say("GET", path), await stand.say("HEAD", path)
        assert (head.status, head.headers, head.content) == (got.status, got.headers, b"")
    assert (await stand.say("HEAD", "/v1/dead:purge")).status == 405


async def test_what_is_given_twice_is_refused(stand: Stand) -> None:
    """Two readers might each take another one."""
    twice = await ask_twice(stand, b"/v1/queues", b"limit=1&limit=2", [])
    assert (twice.status, fields(twice)) == (400, ["limit"])
    assert (await ask_twice(stand, b"/v1/queues", b"limit=1", [])).status == 200
    mine = (b"postroad-tenant", b"a")
    assert (await ask_twice(stand, b"/v1/queues", b"", [mine])).status == 200
    assert (await ask_twice(stand, b"/v1/queues", b"", [mine, mine])).status == 400
    bearer = (b"authorization", f"Bearer {stand.token}".encode())
    assert (await ask_twice(stand, b"/v1/queues", b"", [bearer])).status == 401


async def ask_twice(
    stand: Stand, path: bytes, query: bytes, more: list[tuple[bytes, bytes]]
) -> ApiAnswer:
    """Ask with headers and a query as they are, beside a good token."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        scope = {**scope, "query_string": query, "headers": [*scope["headers"], *more]}
        await stand.app(scope, receive, send)

    headers = {"authorization": f"Bearer {stand.token}"}
    return await ask(app, ApiRequest("GET", path.decode(), headers=headers))


@pytest.mark.parametrize("error", [HubError("s3cret"), ValueError("s3cret")])
async def test_what_the_log_is_said_to_tell_is_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, error: Exception
) -> None:
    async def broken(**_options: object) -> None:
        raise error

    async with Stand(tmp_path) as stand:
        stand.road.inspect.levels = broken  # type: ignore[method-assign, assignment]
        answer = await stand.say("GET", "/v1/levels")
        for _ in range(30):  # whoever repeats it does not fill the log
            assert (await stand.say("GET", "/v1/levels")).status == 500
    assert (answer.status, kind(answer)) == (500, "internal")
    assert b"s3cret" not in answer.content
    assert caplog.text.count("request failed") == 5


async def test_an_answer_that_cannot_be_written_is_a_problem_too(stand: Stand) -> None:
    async def odd(**_options: object) -> object:
        return "\ud800"

    stand.road.inspect.levels = odd  # type: ignore[method-assign, assignment]
    answer = await stand.say("GET", "/v1/levels")
    assert (answer.status, kind(answer)) == (500, "internal")
