"""Publishes that the broker has not answered yet, in the order of their tags."""

import asyncio
from typing import TypeVar

from postroad.model.errors import StoreError
from postroad.stores.rabbitmq.wire.properties import unpack

Confirm = asyncio.Future[None]
T = TypeVar("T")


def fail(waiting: asyncio.Future[T], error: Exception) -> None:
    """Fail it, unless nobody waits any more. Nothing is logged when nobody ever asks."""
    if not waiting.done():
        waiting.set_exception(error)
        waiting.exception()


class Confirms:
    """One for each channel with confirms."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._last = 0
        self._swept = 0  # "multiple" has looked at every tag up to here
        self._open: dict[int, tuple[Confirm, bytes]] = {}

    def __len__(self) -> int:
        return len(self._open)

    @property
    def oldest(self) -> Confirm | None:
        """The one that has waited longest."""
        return next((confirm for confirm, _ in self._open.values()), None)

    def add(self, packed: bytes) -> Confirm:
        """The next publish, known by its properties."""
        self._last += 1
        confirm: Confirm = self._loop.create_future()
        self._open[self._last] = (confirm, packed)
        return confirm

    def answer(self, tag: int, error: StoreError | None, *, multiple: bool) -> None:
        """The broker has it, or refuses it. Each tag is swept once, whatever is open."""
        if multiple:
            for each in range(self._swept + 1, tag + 1):
                self._settle(each, error)
            self._swept = max(self._swept, tag)
        else:
            self._settle(tag, error)

    def returned(self, message_id: str, error: StoreError) -> bool:
        """It found no queue; whether it is known. Returns come in the order of the publishes and
        before their confirms, so that the first one that fits is the one."""
        for confirm, packed in self._open.values():
            if not confirm.done() and unpack(packed).message_id == message_id:
                fail(confirm, error)
                return True
        return False

    def fail(self, error: StoreError) -> None:
        """None of them will be answered."""
        for confirm, _ in self._open.values():
            fail(confirm, error)
        self._open.clear()

    def _settle(self, tag: int, error: StoreError | None) -> None:
        found = self._open.pop(tag, None)
        if found is None or found[0].done():
            return
        if error is None:
            found[0].set_result(None)
        else:
            fail(found[0], error)
