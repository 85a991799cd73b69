"""Own transactions, by every driver and face that send_in knows."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import asyncpg
import psycopg
import sqlalchemy
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import Session


def dialect(dsn: str, driver: str) -> str:
    return dsn.replace("postgresql://", f"postgresql+{driver}://")


@asynccontextmanager
async def on_asyncpg(dsn: str) -> AsyncIterator[Any]:
    raw = await asyncpg.connect(dsn)
    try:
        async with raw.transaction():
            yield raw
    finally:
        await raw.close()


@asynccontextmanager
async def on_psycopg(dsn: str) -> AsyncIterator[Any]:
    with psycopg.connect(dsn) as raw:
        yield raw


@asynccontextmanager
async def on_psycopg_async(dsn: str) -> AsyncIterator[Any]:
    async with await psycopg.AsyncConnection.connect(dsn) as raw:
        yield raw


@asynccontextmanager
async def on_psycopg_autocommit(dsn: str) -> AsyncIterator[Any]:
    with psycopg.connect(dsn, autocommit=True) as raw, raw.transaction():
        yield raw


@asynccontextmanager
async def on_sqlalchemy(dsn: str) -> AsyncIterator[Any]:
    engine = sqlalchemy.create_engine(dialect(dsn, "psycopg"))
    try:
        with engine.begin() as connection:
            yield connection
    finally:
        engine.dispose()


@asynccontextmanager
async def on_session(dsn: str) -> AsyncIterator[Any]:
    engine = sqlalchemy.create_engine(dialect(dsn, "psycopg"))
    try:
        with Session(engine) as session, session.begin():
            yield session
    finally:
        engine.dispose()


@asynccontextmanager
async def on_async_engine(dsn: str) -> AsyncIterator[Any]:
    engine = create_async_engine(dialect(dsn, "asyncpg"))
    try:
        async with engine.begin() as connection:
            yield connection
    finally:
        await engine.dispose()


@asynccontextmanager
async def on_async_session(dsn: str) -> AsyncIterator[Any]:
    engine = create_async_engine(dialect(dsn, "psycopg"))
    try:
        async with AsyncSession(engine) as session, session.begin():
            yield session
    finally:
        await engine.dispose()


DRIVERS = [
    on_asyncpg,
    on_psycopg,
    on_psycopg_async,
    on_psycopg_autocommit,
    on_sqlalchemy,
    on_session,
    on_async_engine,
    on_async_session,
]
