"""Routes: how requests find them, what is refused before them, and how they are described."""

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Any

import pytest
from msgspec import Meta

from postroad.api.app import ROUTES
from postroad.api.problems import BadRequest
from postroad.api.request import Request, Stream
from postroad.api.routing import PARAMETERS_MAX, Facts, Route, read_query
from postroad.model.errors import BodyTooLarge
from tests.api.stand import Stand, kind


async def test_other_methods_are_refused_with_those_that_there_are(stand: Stand) -> None:
    refused = await stand.say("PUT", "/v1/dead")
    assert (refused.status, kind(refused)) == (405, "method-not-allowed")
    assert refused.headers["allow"] == "GET"
    allowed = await stand.say("OPTIONS", "/v1/messages/msg_1")
    assert (allowed.status, allowed.content) == (204, b"")
    assert allowed.headers["allow"] == "DELETE, GET, OPTIONS"
    nowhere = await stand.say("GET", "/v1/" + "x" * 5_000)
    assert (nowhere.status, kind(nowhere)) == (404, "not-found")
    assert len(nowhere.content) < 1_000


async def test_a_slash_at_the_end_is_as_none(stand: Stand) -> None:
    assert (await stand.say("GET", "/v1/queues/")).status == 200
    assert (await stand.say("GET", "/v1//queues")).status == 404
    assert (await stand.say("POST", "/v1/callbacks/x/1", b"")).status == 404


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
    assert {"POST /v1/callbacks/{campaign}/{n}", "GET /metrics"} < set(described)
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

    scope = {"method": "POST", "path": "/", "query_string": b"", "headers": []}
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

    scope = {"method": "GET", "path": "/", "query_string": b"", "headers": []}
    request = Request(scope, receive, stand.context)
    await stand.app._stream(Stream(pieces(), "text/plain"), request, send)
    assert ended.is_set()
    assert [event.get("body") for event in sent] == [None, b"first"]
