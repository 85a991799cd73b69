"""Messages that a client has received and its program has not read yet. Memory is bounded, whatever
a hub sends."""

from collections import OrderedDict
from collections.abc import Container, Iterable
from typing import Final, Generic, Protocol, TypeVar

INBOX_BYTES: Final = 8 << 20
"""With so much unread, messages are dropped: a hub sends again what was not acked when somebody
subscribes again. (To stop reading would hold up the answers to acks.)"""
STRAYS_MAX: Final = 100
"""Frames that no hub should send, before the connection is ended; besides one a subscription."""


class InboxMessage(Protocol):
    """A message as the inbox sees it."""

    @property
    def box(self) -> str:
        """The mailbox's name."""

    @property
    def body(self) -> bytes:
        """The message's content."""


M = TypeVar("M", bound=InboxMessage)


class ClientInbox(Generic[M]):
    """Keeps one message per subscription, as hubs send them. A second message of a mailbox replaces
    the first."""

    def __init__(self) -> None:
        self._messages: OrderedDict[str, M] = OrderedDict()
        self._bytes = 0
        self._let_go: dict[str, None] = {}
        self._strays = 0

    def __len__(self) -> int:
        return len(self._messages)

    def put(self, message: M) -> None:
        """Keep a message until it is read. When too much is unread, only its mailbox is noted."""
        before = self._messages.get(message.box)
        if before is not None or message.box in self._let_go:
            self._strays += 1
        if self._bytes > INBOX_BYTES:
            if before is None:
                self._let_go[message.box] = None
            return
        self._messages[message.box] = message
        self._bytes += len(message.body) - (len(before.body) if before is not None else 0)

    def take(self) -> M:
        """Remove and return the oldest message."""
        _, message = self._messages.popitem(last=False)
        self._bytes -= len(message.body)
        self._strays = 0
        return message

    def stray(self) -> None:
        """Count a frame that nobody asked for."""
        self._strays += 1

    def expect(self, names: Iterable[str]) -> None:
        """Allow one more frame of each of these mailboxes, which were just unsubscribed."""
        self._strays -= sum(1 for _ in names)

    def flooded(self, subscribed: int) -> bool:
        """Whether more frames came since the last read than a hub sends."""
        return self._strays > STRAYS_MAX + subscribed

    def let_go(self, known: Container[str]) -> list[str]:
        """Return the mailboxes whose messages were dropped, to be subscribed to again."""
        names, self._let_go = [name for name in self._let_go if name in known], {}
        return names

    def clear(self) -> None:
        """Forget everything: after a reconnect, what was not acked comes again."""
        self._messages.clear()
        self._let_go = {}
        self._bytes = self._strays = 0
