"""Presence messages that workers send on the fanout exchange, and the roster of who is alive."""

from typing import Final, Literal

import msgspec
from msgspec import Struct

BEAT_S: Final = 3.0
SILENT_S: Final = 10.0
"""A worker that is silent for three intervals and a second is gone. Its shards move within 15 s:
our own interval comes on top."""
PresenceKind = Literal["hello", "here", "bye"]
"""A new worker sends `hello`. All others answer `here`, so that it knows them at once."""


class PresenceMessage(Struct, frozen=True):
    """A message on the fanout exchange."""

    worker: str
    word: PresenceKind


_DECODER: Final = msgspec.json.Decoder(PresenceMessage)


def write(message: PresenceMessage) -> bytes:
    """Encode a presence message."""
    return msgspec.json.encode(message)


def read(body: bytes) -> PresenceMessage | None:
    """Decode a presence message; None when it comes from another release or a stranger."""
    try:
        return _DECODER.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


class Roster:
    """The workers that are alive: this one, and all that were not silent for too long. Silence is
    measured up to the latest message of our own that came back. While none comes back, because the
    broker is short of memory, nobody counts as silent."""

    def __init__(self, me: str, silent_s: float = SILENT_S) -> None:
        self.me = me
        self._silent_s = silent_s
        self._echo_s = 0.0
        self._heard_s: dict[str, float] = {}

    def receive(self, message: PresenceMessage, now_s: float) -> None:
        """Take a presence message."""
        if message.worker == self.me:
            self._echo_s = now_s
        elif message.word == "bye":
            self._heard_s.pop(message.worker, None)
        else:
            self._heard_s[message.worker] = now_s
        self._heard_s = {
            worker: heard_s
            for worker, heard_s in self._heard_s.items()
            if self._echo_s - heard_s < self._silent_s
        }

    @property
    def alive(self) -> frozenset[str]:
        """All workers that are alive, this one included."""
        return frozenset(self._heard_s) | {self.me}

    def forget(self) -> None:
        """Forget the others: without a connection nobody could be heard."""
        self._heard_s.clear()
