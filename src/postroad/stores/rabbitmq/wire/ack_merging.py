"""Acks of one turn of the loop, merged: runs of tags become one frame."""

from postroad.stores.rabbitmq.wire.frames import ACK, NACK, settling

MULTIPLE, REQUEUE = 1, 2


class AckMerger:
    """What a channel settles. Tags come in order, are settled in any, each once."""

    def __init__(self, channel: int) -> None:
        self._channel = channel
        self._acks: list[int] = []
        self._nacks: list[tuple[int, bool]] = []
        self._low = 1  # every tag below is settled
        self._ahead: set[int] = set()  # settled ones above

    def ack(self, tag: int) -> None:
        """It is done with."""
        self._acks.append(tag)

    def nack(self, tag: int, *, requeue: bool) -> None:
        """It is not: back to its queue, or dead-lettered."""
        self._nacks.append((tag, requeue))

    @property
    def waiting(self) -> bool:
        """Whether there is something to write."""
        return bool(self._acks or self._nacks)

    def frames(self) -> list[bytes]:
        """What to write now."""
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
            # The last tag of a run is open at the broker, as it must be; those below may be gone.
            out.append(settling(self._channel, ACK, tags[run - 1], MULTIPLE))
        out += [settling(self._channel, ACK, tag, 0) for tag in tags[run:]]
        self._ahead.update(tags[run:])
        for tag, requeue in self._nacks:
            out.append(settling(self._channel, NACK, tag, REQUEUE if requeue else 0))
            self._ahead.add(tag)
        self._acks, self._nacks = [], []
        return out
