"""`ORDERS=postgresql://… uvicorn main:app`: an order and the job that confirms it are stored by one
commit of the request's SQLAlchemy session, or neither is."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from sqlalchemy import Column, MetaData, String, Table, insert, select
from sqlalchemy.ext.asyncio import AsyncSession, async_sessionmaker, create_async_engine
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from postroad import Postroad
from postroad.web import SessionSender, lifespan

DSN = os.environ["ORDERS"]
road = Postroad(DSN)
engine = create_async_engine(DSN.replace("postgresql://", "postgresql+asyncpg://", 1))
make_session = async_sessionmaker(engine)
tables = MetaData()
orders = Table("orders", tables, Column("item", String))
confirmed: list[str] = []


@road.handler("confirm")
async def confirm(item: str) -> None:
    """Tell somebody that the order is there: it is, for this job was stored with it."""
    confirmed.append(item)


@asynccontextmanager
async def sending_session() -> AsyncIterator[tuple[AsyncSession, SessionSender]]:
    """A session for one request, and what sends within it. It commits when the request succeeds."""
    async with make_session() as session, session.begin():
        yield session, SessionSender(road, session)


async def order(request: Request) -> JSONResponse:
    """Store an order and its job, then find out whether it can be paid."""
    item = request.path_params["item"]
    async with sending_session() as (session, sends):
        await session.execute(insert(orders).values(item=item))
        receipt = await sends.send("confirm", item)
        if "price" not in request.query_params:
            raise LookupError("no price")  # the session is rolled back, and the job with it
    return JSONResponse({"id": receipt.id}, status_code=201)


async def shown(_request: Request) -> JSONResponse:
    """The orders that are stored, and those that were confirmed."""
    async with make_session() as session:
        stored = (await session.scalars(select(orders.c.item).order_by(orders.c.item))).all()
    return JSONResponse({"orders": list(stored), "confirmed": sorted(confirmed)})


@asynccontextmanager
async def opened(app: Starlette) -> AsyncIterator[None]:
    """With the application's tables, and with the road, which delivers meanwhile."""
    async with engine.begin() as connection:
        await connection.run_sync(tables.create_all)
    async with lifespan(road, worker=True)(app):
        yield
    await engine.dispose()


routes = [Route("/orders/{item}", order, methods=["POST"]), Route("/orders", shown)]
app = Starlette(routes=routes, lifespan=opened)
