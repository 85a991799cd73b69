"""A road with two handlers, its application, and a token for each purpose."""

import asyncio
from pathlib import Path
from typing import Any, Self

import msgspec

from postroad import Message, Postroad, Reject
from postroad.api.app import Application
from postroad.api.context import Context
from postroad.api.in_process import ask
from postroad.config import Settings
from postroad.model.tokens import EVERY_TENANT
from postroad.remote.api_request import ApiAnswer, ApiRequest


class Stand:
    """`async with Stand(folder, settings):`; `say` asks as whoever holds the token."""

    def __init__(self, folder: Path, settings: Settings | None = None, dsn: str = "") -> None:
        self.settings = settings or Settings()
        self.road = Postroad(dsn or f"sqlite:///{folder}/road.db", settings=self.settings)
        self.seen: list[Any] = []

        @self.road.handler("good", retries=2)
        async def good(message: Message[Any]) -> None:
            self.seen.append(message.body)

        @self.road.handler("bad")
        async def bad(message: Message[Any]) -> None:
            raise Reject(f"never: {message.body}")

        @self.road.handler("doubtful", at_most_once=True, timeout=0.05)
        async def doubtful(_message: Message[Any]) -> None:
            await asyncio.sleep(3_600)

    async def __aenter__(self) -> Self:
        await self.road.__aenter__()
        self.context = Context(self.road, self.settings, self.road.log)
        self.road.meter = self.context.meter
        self.app = Application(self.context)
        self.token = (await self.road.tokens.make("test", tenant=EVERY_TENANT)).secret
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.road.__aexit__(None, None, None)

    async def say(
        self, method: str, path: str, data: object = None, *, token: str | None = None, **more: Any
    ) -> ApiAnswer:
        content = data if isinstance(data, bytes) else b""
        if data is not None and not isinstance(data, bytes):
            content = msgspec.json.encode(data)
        headers = dict(more.pop("headers", {}))
        given = self.token if token is None else token
        if given:
            headers.setdefault("authorization", f"Bearer {given}")
        asked = ApiRequest(method, path, more.pop("query", {}), content, headers)
        assert not more
        return await ask(self.app, asked)

    async def send(self, queue: str = "good", body: object = 1, **options: Any) -> str:
        answer = await self.say("POST", "/v1/messages", {"queue": queue, "body": body}, **options)
        assert answer.status == 201, answer.content
        return str(answer.json()["id"])


def fields(answer: ApiAnswer) -> list[str]:
    """The fields that a problem names."""
    assert answer.headers["content-type"] == "application/problem+json", answer
    return [each["field"] for each in answer.json()["errors"]]


def kind(answer: ApiAnswer) -> str:
    """The last word of a problem's type."""
    assert answer.headers["content-type"] == "application/problem+json", answer
    told = answer.json()
    assert told["status"] == answer.status
    assert told["title"]
    return str(told["type"]).rpartition(":")[2]
