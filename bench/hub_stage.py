"""Mailboxes for the hub's benchmark: stored beforehand, with names and tokens that follow from a number."""

from base64 import urlsafe_b64encode
from hashlib import sha256
from pathlib import Path

import uvloop

from postroad.model.mailbox import Box, Create, digest
from postroad.ports.clock import SystemClock
from postroad.stores.sqlite.store import SqliteStore

BATCH = 5_000


def name(number: int) -> str:
    """As long as a real one, and as little in order."""
    return urlsafe_b64encode(sha256(str(number).encode()).digest()[:16]).decode().rstrip("=")


def sender(number: int) -> str:
    return f"sender-{number:025}"


def recipient(number: int) -> str:
    return f"recipient-{number:022}"


def fill(path: Path, count: int) -> None:
    """A road's file with so many empty mailboxes."""
    uvloop.run(_fill(path, count))


async def _fill(path: Path, count: int) -> None:
    store = SqliteStore(path, SystemClock())
    await store.open()
    try:
        for start in range(0, count, BATCH):
            await store.box_commit(
                [
                    Create(Box(name(n), digest(sender(n)), digest(recipient(n))))
                    for n in range(start, min(start + BATCH, count))
                ]
            )
    finally:
        await store.close()
