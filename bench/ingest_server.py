"""`python -m bench.ingest_server FILE STORING`: the server as shipped, which only accepts; or, with
STORING 0, the same server whose sends answer at once."""

import json
import sys
from collections.abc import Sequence
from contextlib import closing

import uvloop

from bench.posting import cpu_s
from postroad import Postroad, Receipt, Send
from postroad.api.serving import ApiServer
from postroad.config import Settings
from postroad.stores.sqlite.database import Database
from postroad.stores.sqlite.store import SqliteStore


async def main(path: str, *, storing: bool) -> None:
    settings = Settings(dsn=f"sqlite:///{path}", listen="127.0.0.1:0", log_level="error")
    road = Postroad(settings.dsn, settings=settings)

    @road.handler("no-op")
    async def no_op(_message: object) -> None: ...

    async with road:
        token = (await road.tokens.make("bench")).secret
        if not storing:
            road.send_many = _answer_at_once  # type: ignore[assignment]
        with closing(ApiServer(road, settings, delivers=False)) as server:
            server.bind()
            await server.run(lambda: _say({"url": server.url, "token": token}))
        _say({**await durability(road), "cpu_s": cpu_s()})


async def _answer_at_once(sends: Sequence[Send]) -> list[Receipt]:
    return [Receipt("msg_0000000000001", send.queue) for send in sends]


async def durability(road: Postroad) -> dict[str, object]:
    """As the writer's own connection says, inside a commit that accepts."""
    if not isinstance(road.store, SqliteStore):
        raise TypeError(road.store)

    def look(db: Database) -> dict[str, object]:
        mode = db.connection.execute("pragma journal_mode").fetchall()[0][0]
        return {"journal_mode": mode, "synchronous": db.pragma("synchronous")}

    return await road.store.write("bench", look, durable=True)


def _say(told: dict[str, object]) -> None:
    sys.stdout.write(json.dumps(told) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    uvloop.run(main(sys.argv[1], storing=sys.argv[2] != "0"))
