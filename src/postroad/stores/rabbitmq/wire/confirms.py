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
        self._heard: Confirm | None = None
        self._swept = 0  # "multiple" has looked at every tag up to here
        self.open: dict[int, tuple[Confirm, bytes]] = {}
        """By tag: the receipt, and the properties that it is known by."""

    @property
    def oldest(self) -> Confirm | None:
        """The one that has waited longest."""
        return next((confirm for confirm, _ in self.open.values()), None)

    def heard(self) -> Confirm:
        """Done with the next answer. A receipt may be cancelled by who waits for it: then it is
        done, and its tag is open still."""
        if self._heard is None or self._heard.done():
            self._heard = self._loop.create_future()
        return self._heard

    def _tell(self) -> None:
        if self._heard is not None and not self._heard.done():
            self._heard.set_result(None)

    def add(self, packed: bytes) -> Confirm:
        """The next publish, known by its properties."""
        self._last += 1
        confirm: Confirm = self._loop.create_future()
        self.open[self._last] = (confirm, packed)
        return confirm

    def answer(self, tag: int, error: StoreError | None, *, multiple: bool) -> None:
        """The broker has it, or refuses it. Each tag is swept once, whatever is open."""
        tag = min(tag, self._last)  # a number beyond it would be swept for years
        if multiple:
            for each in range(self._swept + 1, tag + 1):
                self._settle(each, error)
            self._swept = max(self._swept, tag)
        else:
            self._settle(tag, error)
        if self._heard is not None:
            self._tell()

    def returned(self, message_id: str, error: StoreError) -> bool:
        """It found no queue; whether it is known. Returns come in the order of the publishes and
        before their confirms, so that the first one that fits is the one."""
        for confirm, packed in self.open.values():
            if not confirm.done() and unpack(packed).message_id == message_id:
                fail(confirm, error)
                return True
        return False

    def fail(self, error: StoreError) -> None:
        """None of them will be answered."""
        for confirm, _ in self.open.values():
            fail(confirm, error)
        self.open.clear()
        self._tell()

    def _settle(self, tag: int, error: StoreError | None) -> None:
        found = self.open.pop(tag, None)
        if found is None or found[0].done():
            return
        if error is None:
            found[0].set_result(None)
        else:
            fail(found[0], error)
