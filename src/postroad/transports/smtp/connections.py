"""The open dialogues of one lane: kept while they are used, and never more than its sessions."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from postroad.model.errors import Shortage
from postroad.transports.smtp.connection import SmtpConnection
from postroad.transports.smtp.dialogue import Dialogue
from postroad.transports.smtp.opening import Server, open_dialogue
from postroad.transports.webhook.connections import IdleConnections

IDLE_S: Final = 15.0
"""Servers close an idle connection after minutes, and have only so many."""


class Connections:
    """Idle dialogues, and places for those under way."""

    def __init__(self, sessions: int, mails: int, all_idle: IdleConnections) -> None:
        self._sessions = sessions
        self._mails = mails
        self._all_idle = all_idle
        self._places = asyncio.Semaphore(sessions)
        self._under_way = 0
        self._idle: deque[tuple[Server, Dialogue]] = deque()
        """The one that was used last stands last."""
        self._closed = False
        self._timer: asyncio.TimerHandle | None = None
        self._loop = asyncio.get_running_loop()

    @asynccontextmanager
    async def place(self) -> AsyncIterator[None]:
        """Await a place for one dialogue under way, and give it back."""
        async with self._places:
            self._under_way += 1
            try:
                yield
            finally:
                self._under_way -= 1

    def take(self, server: Server) -> Dialogue | None:
        """Take the idle dialogue with this server that was used last."""
        for at in range(len(self._idle) - 1, -1, -1):
            known, dialogue = self._idle[at]
            if known == server:
                del self._idle[at]
                self._all_idle.remove(dialogue.connection)
                return dialogue
        return None

    async def open(self, server: Server) -> Dialogue:
        """Open a new dialogue, in a place that is held. Raises Fault and StepRefused."""
        while self._idle and self._under_way + len(self._idle) > self._sessions:
            self._idle[0][1].connection.quit()  # which takes it out
        try:
            return await open_dialogue(server, self._gone)
        except Shortage:
            self._all_idle.close()
            raise

    def put(self, server: Server, dialogue: Dialogue) -> None:
        """Keep a dialogue for the next mail, unless it has had its share of them."""
        connection = dialogue.connection
        if self._closed or dialogue.mails >= self._mails:
            connection.quit()
        if not connection.usable:
            return
        connection.idle_s = self._loop.time()
        self._idle.append((server, dialogue))
        self._all_idle.add(connection)
        if self._timer is None:
            self._timer = self._loop.call_later(IDLE_S, self._sweep)

    def close(self) -> None:
        """Close idle dialogues now, and those under way when their mail has ended."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()
        while self._idle:
            self._idle[0][1].connection.quit()

    def _gone(self, connection: SmtpConnection) -> None:
        """Forget a connection that the server closed, or that we did."""
        self._all_idle.remove(connection)
        for at, (_, dialogue) in enumerate(self._idle):
            if dialogue.connection is connection:
                del self._idle[at]
                return

    def _sweep(self) -> None:
        before_s = self._loop.time() - IDLE_S
        while self._idle and self._idle[0][1].connection.idle_s <= before_s:
            self._idle[0][1].connection.quit()
        self._timer = self._loop.call_later(IDLE_S, self._sweep) if self._idle else None
