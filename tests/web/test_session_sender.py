"""What a request sends in its own SQLAlchemy session is stored if that commits."""

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Any

import httpx
from fastapi import Depends, FastAPI
from sqlalchemy import text
from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker, create_async_engine

from postroad import Message, Postroad
from postroad.web import SessionSender, lifespan
from tests.servers.postgres import PrivatePostgres


def test_a_request_that_fails_sends_nothing(server: PrivatePostgres) -> None:
    dsn = server.create_database()
    road = Postroad(dsn)
    engine = create_async_engine(dsn.replace("postgresql://", "postgresql+asyncpg://"))
    make_session = async_sessionmaker(engine)
    seen: list[object] = []

    @road.handler("confirm")
    async def confirm(message: Message[str]) -> None:
        seen.append(message.body)

    async def session() -> AsyncIterator[AsyncSession]:
        async with make_session() as made, made.begin():
            yield made

    async def sender(own: Annotated[AsyncSession, Depends(session)]) -> SessionSender:
        return SessionSender(road, own)

    app = FastAPI(lifespan=lifespan(road))

    @app.post("/orders/{item}")
    async def order(
        item: str,
        own: Annotated[AsyncSession, Depends(session)],
        sends: Annotated[SessionSender, Depends(sender)],
    ) -> dict[str, Any]:
        await own.execute(text("insert into orders values (:item)"), {"item": item})
        receipt = await sends.send("confirm", item)
        if item == "pot":
            raise LookupError
        return {"id": receipt.id}

    async def story() -> list[str]:
        async with engine.begin() as connection:
            await connection.execute(text("create table orders (item text)"))
        client = httpx.AsyncClient(
            transport=httpx.ASGITransport(app, raise_app_exceptions=False), base_url="http://shop"
        )
        async with asyncio.timeout(60), app.router.lifespan_context(app), client:
            for item, status in (("cup", 200), ("pot", 500), ("jar", 200)):
                assert (await client.post(f"/orders/{item}")).status_code == status
            await road.run(until_idle=True)
            async with engine.connect() as connection:
                rows = await connection.execute(text("select item from orders order by item"))
                found = [row[0] for row in rows]
        await engine.dispose()
        return found

    stored = asyncio.run(story())
    assert stored == sorted(map(str, seen)) == ["cup", "jar"]
