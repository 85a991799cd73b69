"""SuspectIsolation: which messages may start beside each other after lost leases."""

from postroad.engine.attempt_effects import LOST_LEASES_MAX
from postroad.engine.lane_worker import LaneWorker
from postroad.model.entities import Message


class SuspectIsolation:
    """A process that dies leaves a noted start on every lane on probation. A message with a single
    start left therefore goes alone: should the process die again, it was this one."""

    def __init__(self) -> None:
        self._noted: dict[int, tuple[LaneWorker, bool]] = {}

    def admits(self, message: Message) -> bool:
        """Whether it may start beside those whose end is not recorded yet."""
        self._noted = {n: one for n, one in self._noted.items() if _knows(one[0], n)}
        others = [alone for n, (_, alone) in self._noted.items() if n != message.id]
        return not (any(others) or (others and last_start(message)))

    def enter(self, worker: LaneWorker, message: Message) -> None:
        """Note that a suspect message's try starts."""
        self._noted[message.id] = (worker, last_start(message))


def _knows(worker: LaneWorker, number: int) -> bool:
    """Whether a message is in flight or unrecorded there."""
    return number in worker.open_messages.ids and not worker.stopped


def last_start(message: Message) -> bool:
    """Whether one more lost lease makes it a killer."""
    return message.marks >= LOST_LEASES_MAX - 1
