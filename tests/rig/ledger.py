"""The ledger: what was sent, what was received, and a checker that names broken promises."""

from collections import Counter, defaultdict
from collections.abc import Mapping
from itertools import pairwise
from typing import Final

from msgspec import Struct

from postroad.model.decide import Move
from postroad.model.entities import Policy
from postroad.model.ladder import JITTER
from postroad.model.outcome import Kind
from postroad.model.record import Result
from postroad.model.states import FINAL, NEVER, State, is_legal
from tests.rig.receivers import ReceivedTry

LIVE: Final = frozenset({State.waiting, State.held})
"""States of unfinished messages; in the tables a message in flight has one of these."""
NOBODY: Final = -1
HEARD_WITHIN_MS: Final = 2_000
"""A healthy engine knows of a pause after this time."""


class SentMessage(Struct, frozen=True):
    """A message whose sender has a receipt. `once`: its queue wants no second try after doubt."""

    number: int
    queue: str
    body: bytes
    due_ms: int
    order_key: str = ""
    expires_ms: int = NEVER
    once: bool = False


class Breach(AssertionError):
    """Promises were broken; the text names which, and by what."""


class DeliveryLedger:
    """A record kept from senders' receipts, receivers' books and an observer inside the store."""

    def __init__(self) -> None:
        self.sent: dict[int, SentMessage] = {}
        self.asked: set[bytes] = set()
        """Bodies that were sent, also those whose receipt never came."""
        self.book: list[ReceivedTry] = []
        self.breaches: list[str] = []
        self._holders: dict[str, tuple[int, int]] = {}
        self._tries: list[tuple[int, int]] = []
        self._known: Counter[tuple[int, int]] = Counter()
        self._unknown: Counter[int] = Counter()
        self._final_ms: dict[int, int] = {}
        self._faulty: set[int] = {NOBODY}
        self._states: dict[int, State] = {}
        self._begun: set[int] = set()
        self._taken: dict[int, set[tuple[int, int, int]]] = defaultdict(set)
        self._results: set[tuple[int, tuple[int, int, int]]] = set()
        self._paused_ms: dict[str, int] = {}
        self._last_try: dict[int, int] = {}

    def breach(self, promise: str, text: str) -> None:
        """Note a broken promise."""
        if (line := f"{promise}: {text}") not in self.breaches:
            self.breaches.append(line)

    # What the witnesses say

    def accepted(self, sent: SentMessage) -> None:
        """A sender has a receipt."""
        self.sent[sent.number] = sent

    def claimed(self, lane: str, epoch: int, owner: int) -> None:
        """A lane has a new owner."""
        old_epoch, _ = self._holders.get(lane, (0, 0))
        if epoch <= old_epoch:
            self.breach("one holder", f"{lane} was claimed at epoch {epoch} after {old_epoch}")
        self._holders[lane] = (epoch, owner)

    def holder(self, lane: str) -> int:
        """The owner of a lane, by the last claim."""
        return self._holders[lane][1]

    def started(self, lane: str, owner: int, number: int, now_ms: int) -> None:
        """A try starts. Only the lane's owner may start one, of an unfinished message."""
        _, holder = self._holders.get(lane, (0, owner))
        if holder != owner:
            self.breach("one holder", f"{owner} started {number} on {lane}, which {holder} owns")
        self._tries.append((number, owner))
        self._begun.add(number)
        if (state := self._states.get(number, State.waiting)) not in LIVE:
            self.breach("legal states", f"{number} was started when it was {state}")
        if owner not in self._faulty:
            self._check_start(lane, number, now_ms)

    def _check_start(self, lane: str, number: int, now_ms: int) -> None:
        """A healthy engine respects cancels and pauses."""
        if self._last_try.get(number, NOBODY) not in self._faulty:
            self.breach("cancel", f"{number} was started after the try that was its last")
        sent = self.sent.get(number)
        for name in (lane, sent.queue) if sent else (lane,):
            if now_ms - self._paused_ms.get(name, now_ms) > HEARD_WITHIN_MS:
                self.breach("pause", f"{number} was started, and {name} is paused")

    def marked(self, number: int) -> None:
        """The start of a message was stored."""
        self._begun.add(number)

    def paused(self, name: str, now_ms: int, *, paused: bool) -> None:
        """A queue or lane was paused or resumed."""
        if paused:
            self._paused_ms.setdefault(name, now_ms)
        else:
            self._paused_ms.pop(name, None)

    def last_try(self, number: int, owner: int) -> None:
        """The owner told the canceller that the present try is the last one."""
        self._last_try[number] = owner

    def faulty(self, owner: int) -> None:
        """This owner crashed or was cut off: tries that it did not record are in doubt."""
        self._faulty.add(owner)

    def recorded(self, owner: int, result: Result, now_ms: int, *, live: bool) -> None:
        """The lane's owner wrote a result. `live` is false if the message is final now."""
        number, line = result.message.id, _line(owner, result)
        if (number, line) in self._results:
            return  # written twice, because the answer to the first write was lost
        self._results.add((number, line))
        if _began(result):
            self._known[(number, owner)] += 1
            self._unknown[number] += result.kind is Kind.unknown
        if not live:
            self._final_ms.setdefault(number, now_ms)

    def taken(self, owner: int, result: Result) -> None:
        """A result found its message unfinished, or turned its death into a success."""
        if _began(result):
            self._taken[result.message.id].add(_line(owner, result))

    def moved(self, number: int, states: list[State]) -> None:
        """A write changed a message, which has these states now."""
        old = self._states.get(number, State.waiting)
        if len(states) > 1:
            self.breach("legal states", f"{number} is {' and '.join(sorted(states))}")
        elif not states:
            if old not in FINAL:
                self.breach("no loss", f"{number} was {old} and is nowhere")
            self._states.pop(number, None)
        elif not self._may_become(number, old, states[0]):
            self.breach("legal states", f"{number} was {old} and is {states[0]}")
        if states:
            self._states[number] = states[0]

    def _may_become(self, number: int, old: State, new: State) -> bool:
        if old is new or is_legal(old, new):
            return True
        if old not in LIVE:
            return False
        # A block ends by time, and a try is not a row: nobody writes these two steps down.
        return is_legal(State.waiting, new) or (
            number in self._begun and is_legal(State.sending, new)
        )

    def tallied(
        self, states: dict[int, State], counts: Mapping[str, int], attempts: Mapping[int, int]
    ) -> None:
        """Compare the store's states of all messages with its counts, at one moment."""
        by_state = Counter(states.values())
        for state in State:
            if counts.get(state, 0) != by_state[state]:
                text = f"{counts.get(state, 0)} {state} in numbers, {by_state[state]} by id"
                self.breach("counts", text)
        for number, state in states.items():
            seen = self._states.get(number, state)
            if seen is not state and not {seen, state} <= LIVE:
                self.breach("legal states", f"{number} is {state}, and was last seen {seen}")
        for number, count in attempts.items():
            tries = _tries(self._taken[number])
            if count != tries:
                self.breach("counts", f"{number} has {count} attempts, {tries} were recorded")

    # What must hold

    def check(self, states: dict[int, State], policy: Policy) -> None:
        """Check all promises; raises a Breach that names the broken ones."""
        self._check_loss(states)
        self._check_phantoms()
        self._check_repeats()
        self._check_deadlines()
        self._check_due(policy)
        self._check_retry_after()
        self._check_order()
        if self.breaches:
            raise Breach("; ".join(self.breaches[:10]))

    def _check_loss(self, states: dict[int, State]) -> None:
        for number in self.sent.keys() - states.keys():
            self.breach("no loss", f"{number} was accepted and is nowhere")
        handled = {receipt.message for receipt in self.book if receipt.handled}
        for number, state in states.items():
            if state is State.delivered and number not in handled:
                self.breach("no loss", f"{number} counts as delivered and nobody received it")

    def _check_phantoms(self) -> None:
        for receipt in self.book:
            sent = self.sent.get(receipt.message)
            if receipt.body not in self.asked:
                self.breach("no phantom", f"{receipt.message} was never sent with this body")
            elif sent and (sent.queue, sent.body) != (receipt.queue, receipt.body):
                self.breach("no phantom", f"{receipt.message} came to {receipt.queue}")

    def _check_repeats(self) -> None:
        handled = Counter(receipt.message for receipt in self.book if receipt.handled)
        for number, times in handled.items():
            sent, doubts = self.sent.get(number), self.doubts(number)
            if sent and sent.once and times > 1:
                self.breach("at most once", f"{number} was handled {times} times")
            elif times > 1 + doubts:
                self.breach("repeats", f"{number} was handled {times} times, {doubts} in doubt")

    def triers(self, number: int) -> set[int]:
        """The owners that have started a message."""
        return {owner for tried, owner in self._tries if tried == number}

    def doubts(self, number: int) -> int:
        """How many tries have an unknown end: no answer came, or their process was cut off."""
        cut_off = Counter(
            owner for tried, owner in self._tries if tried == number and owner in self._faulty
        )
        lost = sum(max(0, n - self._known[(number, owner)]) for owner, n in cut_off.items())
        return lost + self._unknown[number]

    def _check_deadlines(self) -> None:
        for receipt in self.book:
            sent = self.sent.get(receipt.message)
            if sent and receipt.started_ms >= sent.expires_ms:
                self.breach("deadline", f"{receipt.message} was started when it had expired")

    def _check_due(self, policy: Policy) -> None:
        last: dict[int, ReceivedTry] = {}
        for receipt in sorted(self.book, key=lambda r: (r.started_ms, r.ended_ms)):
            number = receipt.message
            sent, before = self.sent.get(number), last.get(number)
            if sent and receipt.started_ms < sent.due_ms:
                self.breach("never early", f"{number} started before it was due")
            if before and receipt.level > before.level:
                gap_ms = receipt.started_ms - before.ended_ms
                if gap_ms < int(policy.ladder.delay_ms(receipt.level) * (1 - JITTER)) - 1:
                    self.breach("never early", f"{number} at level {receipt.level}: {gap_ms} ms")
            last[number] = receipt

    def _check_retry_after(self) -> None:
        """Retry-After counts from the answer; tries in flight had started before it."""
        starts: dict[str, list[int]] = defaultdict(list)
        for receipt in self.book:
            starts[receipt.queue].append(receipt.started_ms)
        for receipt in self.book:
            if receipt.kind != Kind.quota:
                continue
            until_ms = receipt.ended_ms + receipt.after_ms
            if any(receipt.ended_ms < start < until_ms for start in starts[receipt.queue]):
                self.breach("never early", f"{receipt.queue} was tried before its Retry-After")

    def _check_order(self) -> None:
        """A message of an order key is first tried when the one before it is final."""
        first: dict[int, int] = {}
        for receipt in self.book:
            started_ms = first.get(receipt.message, receipt.started_ms)
            first[receipt.message] = min(started_ms, receipt.started_ms)
        keys: dict[tuple[str, str], list[int]] = defaultdict(list)
        for sent in self.sent.values():
            if sent.order_key:
                keys[(sent.queue, sent.order_key)].append(sent.number)
        for (queue, key), numbers in keys.items():
            numbers.sort()
            for one, two in pairwise(numbers):
                if two in first and first[two] < self._final_ms.get(one, 0):
                    self.breach("order", f"{two} ({key} at {queue}) before {one} was final")
                if two in first and one in first and first[two] < first[one]:
                    self.breach("order", f"{two} ({key} at {queue}) before {one}")


def _began(result: Result) -> bool:
    """Whether a try began: a message may be cancelled before."""
    return result.move is not Move.cancel or result.started_ms > 0


def _line(owner: int, result: Result) -> tuple[int, int, int]:
    """A key for one try of a message."""
    return owner, result.message.attempts, result.started_ms


def _tries(lines: set[tuple[int, int, int]]) -> int:
    """How many tries; a result for a try that another owner began counts as that try."""
    begun = [attempts for _, attempts, started_ms in lines if started_ms]
    return len(begun) + len({n for _, n, started_ms in lines if not started_ms} - set(begun))
