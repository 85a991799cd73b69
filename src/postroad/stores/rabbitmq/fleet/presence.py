"""Presence: what workers say to each other on the fanout exchange, and who is alive by it."""

from enum import StrEnum
from typing import Final

import msgspec
from msgspec import Struct

BEAT_S: Final = 3.0
SILENT_S: Final = 10.0
"""Three signs of life and a second: what is silent for so long is gone. With a beat of our own on
top its shards move within 15 s."""


class PresenceKind(StrEnum):
    """What a worker says."""

    hello = "hello"
    """I am new: who is there? Answered with `here`, so that a newcomer knows all at once."""
    here = "here"
    bye = "bye"


class PresenceMessage(Struct, frozen=True):
    """A sign of life on the fanout exchange."""

    worker: str
    word: PresenceKind


_DECODER: Final = msgspec.json.Decoder(PresenceMessage)


def write(sign: PresenceMessage) -> bytes:
    """As it goes over the wire."""
    return msgspec.json.encode(sign)


def read(body: bytes) -> PresenceMessage | None:
    """What somebody said; None when it is none of our words: another release, or a stranger."""
    try:
        return _DECODER.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


class Roster:
    """Who is alive: oneself, and everybody who was not silent for too long. The silence counts up
    to the latest of our own signs that came back to us: while those do not (a broker that is short
    of memory takes none), nobody is silent through a fault of their own."""

    def __init__(self, me: str, silent_s: float = SILENT_S) -> None:
        self.me = me
        self._silent_s = silent_s
        self._echo_s = 0.0
        self._heard_s: dict[str, float] = {}

    def hear(self, sign: PresenceMessage, now_s: float) -> None:
        """Somebody said something."""
        if sign.worker == self.me:
            self._echo_s = now_s
        elif sign.word is PresenceKind.bye:
            self._heard_s.pop(sign.worker, None)
        else:
            self._heard_s[sign.worker] = now_s
        self._heard_s = {
            worker: heard_s
            for worker, heard_s in self._heard_s.items()
            if self._echo_s - heard_s < self._silent_s
        }

    @property
    def alive(self) -> frozenset[str]:
        """Everybody who counts now."""
        return frozenset(self._heard_s) | {self.me}

    def forget(self) -> None:
        """Our own link was away: nobody could be heard."""
        self._heard_s.clear()
