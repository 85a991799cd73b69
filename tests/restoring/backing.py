"""A road that works while it is backed up, and what a backup has."""

import subprocess
import sys
from pathlib import Path

import apsw

SENDER = """
import asyncio, sys
from postroad import Postroad

road = Postroad(sys.argv[1])

@road.handler("good")
async def good(message): ...

async def main():
    async with road:
        running = asyncio.create_task(road.run())
        n = 0
        while not running.done():
            for receipt in await road.send_many([("good", {"n": n + k}) for k in range(20)]):
                n += 1
                print(receipt.id, flush=True)

asyncio.run(main())
"""
"""Sends and delivers until it is killed; each receipt is printed."""


def start_sender(folder: Path, dsn: str) -> "subprocess.Popen[str]":
    words = (sys.executable, "-c", SENDER, dsn)
    return subprocess.Popen(
        words, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    )


def ids_in(path: Path) -> set[int]:
    """Every message that a road's file knows, whatever became of it."""
    connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
    try:
        rows = connection.execute(
            "select id from message union select id from history union select id from dead"
        )
        return {int(str(number)) for (number,) in rows}
    finally:
        connection.close()
