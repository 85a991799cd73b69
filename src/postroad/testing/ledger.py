"""The ledger: what was asked, what was seen; and one checker that names every breach."""

from collections import Counter, defaultdict
from itertools import pairwise

from msgspec import Struct

from postroad.model.ladder import JITTER
from postroad.model.outcome import Kind
from postroad.model.record import Result
from postroad.model.states import State
from postroad.model.words import Policy
from postroad.testing.receivers import Receipt


class Sent(Struct, frozen=True):
    """A message whose sender has a receipt."""

    number: int
    queue: str
    body: bytes
    due_ms: int
    order_key: str = ""


class Breach(AssertionError):
    """Promises were broken; the text names which, and by what."""


class Ledger:
    """Kept beside the road, from senders' receipts, receivers' books and a witness in the store."""

    def __init__(self) -> None:
        self.sent: dict[int, Sent] = {}
        self.asked: set[bytes] = set()
        """Bodies that were handed over, also those whose receipt never came."""
        self.book: list[Receipt] = []
        self.breaches: list[str] = []
        self._holders: dict[str, tuple[int, int]] = {}
        self._tries: list[tuple[int, int]] = []
        self._known: Counter[tuple[int, int]] = Counter()
        self._unknown: Counter[int] = Counter()
        self._final_ms: dict[int, int] = {}
        self._faulty: set[int] = set()

    def breach(self, promise: str, text: str) -> None:
        """A promise was broken."""
        self.breaches.append(f"{promise}: {text}")

    # What the witnesses say

    def accepted(self, sent: Sent) -> None:
        """The sender has its receipt."""
        self.sent[sent.number] = sent

    def claimed(self, lane: str, epoch: int, owner: int) -> None:
        """A lane has a new owner."""
        old_epoch, _ = self._holders.get(lane, (0, 0))
        if epoch <= old_epoch:
            self.breach("one holder", f"{lane} was claimed at epoch {epoch} after {old_epoch}")
        self._holders[lane] = (epoch, owner)

    def holder(self, lane: str) -> int:
        """Who owns a lane, by the last claim."""
        return self._holders[lane][1]

    def started(self, lane: str, owner: int, number: int) -> None:
        """A try starts: only the lane's present owner may."""
        _, holder = self._holders.get(lane, (0, owner))
        if holder != owner:
            self.breach("one holder", f"{owner} started {number} on {lane}, which {holder} owns")
        self._tries.append((number, owner))

    def faulty(self, owner: int) -> None:
        """This owner crashed or was cut off: what it did not record is in doubt."""
        self._faulty.add(owner)

    def recorded(self, owner: int, result: Result, now_ms: int, *, live: bool) -> None:
        """A result was written by the lane's owner; what has left the live table is final."""
        number = result.message.id
        self._known[(number, owner)] += 1
        self._unknown[number] += result.kind is Kind.unknown
        if not live:
            self._final_ms.setdefault(number, now_ms)

    # What must hold

    def check(self, states: dict[int, State], policy: Policy) -> None:
        """All promises at once; raises a Breach that names those broken."""
        self._check_loss(states)
        self._check_phantoms()
        self._check_repeats()
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
            doubts = self.doubts(number)
            if times > 1 + doubts:
                self.breach("repeats", f"{number} was handled {times} times, {doubts} in doubt")

    def doubts(self, number: int) -> int:
        """Tries whose end the road could not know: answered so, or cut off with their process."""
        cut_off = Counter(
            owner for tried, owner in self._tries if tried == number and owner in self._faulty
        )
        lost = sum(max(0, n - self._known[(number, owner)]) for owner, n in cut_off.items())
        return lost + self._unknown[number]

    def _check_due(self, policy: Policy) -> None:
        last: dict[int, Receipt] = {}
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
        """It counts from the answer; what was in flight then had started before it."""
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
        """Of one key, a message is first tried when the one before it is final."""
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
