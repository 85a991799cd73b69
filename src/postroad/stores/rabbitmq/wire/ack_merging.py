"""Merges the acks of one turn of the event loop: a run of tags becomes one frame."""

from postroad.stores.rabbitmq.wire.frames import ACK, NACK, settling

MULTIPLE, REQUEUE = 1, 2


class AckMerger:
    """The acks of a channel. Tags arrive in order and are settled once each, in any order."""

    def __init__(self, channel: int) -> None:
        self._channel = channel
        self._acks: list[int] = []
        self._nacks: list[tuple[int, bool]] = []
        self._low = 1  # every tag below this one is settled
        self._ahead: set[int] = set()  # settled tags above it

    def ack(self, tag: int) -> None:
        """Acknowledge a tag."""
        self._acks.append(tag)

    def nack(self, tag: int, *, requeue: bool) -> None:
        """Return a tag to its queue, or dead-letter it."""
        self._nacks.append((tag, requeue))

    def frames(self) -> list[bytes]:
        """The frames to write now."""
        out: list[bytes] = []
        tags = self._acks
        tags.sort()
        run = 0
        low = self._low
        for tag in tags:
            while low in self._ahead:
                self._ahead.remove(low)
                low += 1
            if tag != low:
                break
            low += 1
            run += 1
        self._low = low
        if run:
            # The broker requires that the last tag of a run is unsettled; those below need not be.
            out.append(settling(self._channel, ACK, tags[run - 1], MULTIPLE))
        out += [settling(self._channel, ACK, tag, 0) for tag in tags[run:]]
        self._ahead.update(tags[run:])
        for tag, requeue in self._nacks:
            out.append(settling(self._channel, NACK, tag, REQUEUE if requeue else 0))
            self._ahead.add(tag)
        self._acks, self._nacks = [], []
        return out
