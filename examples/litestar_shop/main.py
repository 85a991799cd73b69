"""`litestar --app main:app run`: a sign-up that sends a welcome."""

from litestar import Litestar, get, post

from postroad import Postroad
from postroad.web import lifespan

road = Postroad("sqlite:///shop.db")
seen: list[str] = []


@road.handler("welcome")
async def welcome(name: str) -> None:
    """Greet somebody."""
    seen.append(f"welcome, {name}")


@post("/sign-up")
async def sign_up(name: str) -> dict[str, str]:
    """Store the job before the answer is given."""
    return {"id": (await welcome.send(name)).id}


@get("/seen")
async def what_was_seen() -> list[str]:
    """What was done so far."""
    return seen


app = Litestar([sign_up, what_was_seen], lifespan=[lifespan(road, worker=True)])
