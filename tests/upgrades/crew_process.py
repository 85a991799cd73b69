"""A process of either release, which PYTHONPATH names: `… ROLE DSN BOOK [URL]`.

`worker` delivers; the others send until they are told to stop, and print what was accepted: `sender`
by the program's own road, `in` in a transaction of its own, `http` through the API at URL, `hook` to
the receiver at URL.
"""

import asyncio
import json
import os
import signal
import sys
import urllib.request
from pathlib import Path
from typing import Any

import psycopg

from postroad import Message, Postroad, Settings, Steps, WebhookRules

ROLE, DSN, BOOK, URL = (*sys.argv[1:], "")[:4]
RULES = WebhookRules(http=True, allow=("127.0.0.0/8",), ports=())
road = Postroad(DSN, settings=Settings(webhooks=RULES))


@road.handler("good", ladder=Steps(5, (200,)))
async def good(message: Message[str]) -> None:
    if message.attempt == 1 and message.body.endswith("7"):
        raise ValueError("the first try fails: it is written down")
    write_down(message.body)


def write_down(body: str) -> None:
    with Path(BOOK).open("a") as file:
        file.write(body + "\n")


async def work() -> None:
    async with road:
        print("ready", flush=True)  # noqa: T201
        await road.run()


def post(body: str) -> None:
    """As a program in any language does; an answer that is no 2xx is an error."""
    headers = {"authorization": f"Bearer {os.environ['TOKEN']}", "content-type": "application/json"}
    content = json.dumps({"queue": "good", "body": body}).encode()
    request = urllib.request.Request(f"{URL}/v1/messages", content, headers)
    with urllib.request.urlopen(request, timeout=60) as answer:
        json.load(answer)


async def send_in(connection: "psycopg.AsyncConnection[Any]", body: str) -> None:
    """With an order of our own, or neither of them."""
    async with connection.transaction():
        await connection.execute("insert into orders values (%s)", (body,))
        await road.send_in(connection, "good", body)
    async with connection.transaction(force_rollback=True):
        await road.send_in(connection, "good", f"never-{body}")


async def send() -> None:
    stopping = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stopping.set)
    async with road, await psycopg.AsyncConnection.connect(DSN, autocommit=True) as own:
        number = 0
        while not stopping.is_set():
            body = f"{ROLE}-{os.getpid()}-{number}"
            match ROLE:
                case "http":
                    await asyncio.to_thread(post, body)
                case "in":
                    await send_in(own, body)
                case _:
                    await road.send(URL or "good", body)
            print(body, flush=True)  # noqa: T201
            number += 1
            await asyncio.sleep(0.01)


asyncio.run(work() if ROLE == "worker" else send())
