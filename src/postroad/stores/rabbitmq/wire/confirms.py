"""Publishes that wait for a confirm, in the order of their delivery tags."""

import asyncio
from typing import TypeVar

from postroad.model.errors import StoreError
from postroad.stores.rabbitmq.wire.properties import unpack

Confirm = asyncio.Future[None]
T = TypeVar("T")


def fail(waiting: asyncio.Future[T], error: Exception) -> None:
    """Fail a future unless it is done. asyncio logs nothing when nobody awaits it."""
    if not waiting.done():
        waiting.set_exception(error)
        waiting.exception()


class Confirms:
    """The open confirms of one channel."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._last = 0
        self._next_answer: Confirm | None = None
        self._swept = 0  # confirms with "multiple" have settled every tag up to here
        self.open: dict[int, tuple[Confirm, bytes]] = {}
        """The future and the packed properties of each publish, by delivery tag."""

    @property
    def oldest(self) -> Confirm | None:
        """The publish that has waited longest."""
        return next((confirm for confirm, _ in self.open.values()), None)

    def next_answer(self) -> Confirm:
        """A future that is done with the broker's next answer. The future of a publish does not
        serve for that: its waiter may cancel it while the tag is still open."""
        if self._next_answer is None or self._next_answer.done():
            self._next_answer = self._loop.create_future()
        return self._next_answer

    def _wake(self) -> None:
        if self._next_answer is not None and not self._next_answer.done():
            self._next_answer.set_result(None)

    def add(self, packed: bytes) -> Confirm:
        """Register the next publish. A returned message is matched by its properties."""
        self._last += 1
        confirm: Confirm = self._loop.create_future()
        self.open[self._last] = (confirm, packed)
        return confirm

    def answer(self, tag: int, error: StoreError | None, *, multiple: bool) -> None:
        """Settle a tag, or all tags up to it. Each tag is visited once, so this is linear."""
        tag = min(tag, self._last)  # a huge tag would make the loop below run for years
        if multiple:
            for each in range(self._swept + 1, tag + 1):
                self._settle(each, error)
            self._swept = max(self._swept, tag)
        else:
            self._settle(tag, error)
        if self._next_answer is not None:
            self._wake()

    def returned(self, message_id: str, error: StoreError) -> bool:
        """Fail the publish that the broker returned, and answer whether it was found. Returns come
        in publish order and before their confirms, so the first match is the right one."""
        for confirm, packed in self.open.values():
            if not confirm.done() and unpack(packed).message_id == message_id:
                fail(confirm, error)
                return True
        return False

    def fail(self, error: StoreError) -> None:
        """Fail all open publishes."""
        for confirm, _ in self.open.values():
            fail(confirm, error)
        self.open.clear()
        self._wake()

    def _settle(self, tag: int, error: StoreError | None) -> None:
        found = self.open.pop(tag, None)
        if found is None or found[0].done():
            return
        if error is None:
            found[0].set_result(None)
        else:
            fail(found[0], error)
