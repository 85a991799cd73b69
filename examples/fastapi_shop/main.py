"""`uvicorn main:app`: a sign-up that sends a welcome, and a hook around each try."""

from collections.abc import AsyncIterator
from typing import Any

from fastapi import FastAPI

from postroad import Message, Postroad
from postroad.web import lifespan

road = Postroad("sqlite:///shop.db")
app = FastAPI(lifespan=lifespan(road, worker=True))
seen: list[str] = []


@road.around
async def logged(message: Message[Any]) -> AsyncIterator[None]:
    """See every try begin and end; an error tracker would catch what is raised."""
    seen.append(f"begin {message.attempt}")
    try:
        yield
    finally:
        seen.append(f"end {message.attempt}")


@road.handler("welcome")
async def welcome(name: str) -> None:
    """Greet somebody."""
    seen.append(f"welcome, {name}")


@app.post("/sign-up", status_code=201)
async def sign_up(name: str) -> dict[str, str]:
    """Store the job before the answer is given."""
    return {"id": (await welcome.send(name)).id}


@app.get("/seen")
async def what_was_seen() -> list[str]:
    """What was done so far."""
    return seen
