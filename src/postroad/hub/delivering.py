"""Subscriptions: one unacknowledged message each, one subscriber a mailbox, oldest ready first."""

from collections.abc import Sequence
from typing import Final

from postroad.hub.connections import Asks, Connections, Settle
from postroad.hub.frames import End, message
from postroad.hub.subscriber import Client, Sub
from postroad.model.mailbox import (
    DONE,
    Answer,
    Done,
    Heads,
    Letter,
    Looked,
    Peek,
    RefusalCode,
    Refused,
    Take,
    Taken,
)

NOT_SUBSCRIBED: Final = Refused(
    RefusalCode.not_subscribed, "nothing was delivered here from this mailbox"
)
WRONG_ID: Final = Refused(
    RefusalCode.wrong_id, "another message waits for its ack: nothing was deleted"
)
TOO_MANY: Final = Refused(RefusalCode.too_many, "too many subscriptions on one connection")


class Delivering(Connections):
    """What goes to subscribers, and what they acknowledge."""

    def subscribe(self, client: Client, asks: Asks, done: Settle) -> None:
        """Subscribe to these mailboxes. One answer for all goes first, messages after it."""
        if len(client.subs) + len(asks) > self.limits.subscriptions_max:
            done(TOO_MANY)
            return

        def settled(answer: Answer) -> None:
            if client.gone:
                return
            if not isinstance(answer, Looked):
                done(answer)
                return
            waiting = answer.waiting
            for place, (name, _) in enumerate(asks):
                if waiting[place] is not None and name in client.pulled:
                    waiting[place] = None  # get and subscribe exclude each other
                elif waiting[place] is not None:
                    self._register(client, name)
            done(answer)
            now_s = self.now_s()
            for (name, _), left in zip(asks, waiting, strict=True):
                if left:
                    client.mark(name, now_s)
            self._drain(client)

        self._look(asks, settled)

    def _register(self, client: Client, name: str) -> None:
        before = self.subs.get(name)
        if before is not None:
            self._forget(before)
            if before.client is not client:
                self.takeovers += 1
                before.client.tell(End(box=name, why="taken over"))
        self.subs[name] = client.subs[name] = Sub(name, client)

    def _forget(self, sub: Sub) -> None:
        client, name = sub.client, sub.name
        self.unacked.pop(sub, None)
        client.ready.pop(name, None)
        if client.subs.get(name) is sub:
            del client.subs[name]
        if self.subs.get(name) is sub:
            del self.subs[name]

    def unsubscribe(self, client: Client, names: Sequence[str], done: Settle) -> None:
        """Unsubscribe from these; what is unacked waits. In order with subscriptions."""

        def settled(_answer: Answer) -> None:
            for name in names:
                client.pulled.pop(name, None)
                sub = client.subs.get(name)
                if sub is not None:
                    self._forget(sub)
            done(DONE)

        self._look((), settled)

    def _deliver(self, sub: Sub, letter: Letter) -> None:
        self._delivered(sub, letter.position)
        sub.client.link.put(message(sub.name, letter))

    def _delivered(self, sub: Sub, position: int) -> None:
        sub.delivered = position
        sub.since = self.now_s()
        self.unacked[sub] = None

    def _mark(self, client: Client, name: str) -> None:
        client.mark(name, self.now_s())
        self._drain(client)

    def _drain(self, client: Client) -> None:
        """Read the heads of what has been ready longest, if the client can take them."""
        if client.reading or not client.ready or not client.writable:
            return
        picked: list[tuple[Sub, float]] = []
        while client.ready and len(picked) < self.limits.dispatch:
            name, since_s = client.ready.popitem(last=False)
            sub = client.subs.get(name)
            if sub is not None and not sub.delivered:
                picked.append((sub, since_s))
        if not picked:
            return
        client.reading = True

        def settled(answer: Answer) -> None:
            client.reading = False
            left = self._dispatch(client, picked, answer)
            for sub, since_s in reversed(left):
                client.ready[sub.name] = since_s
                client.ready.move_to_end(sub.name, last=False)
            if not isinstance(answer, Refused):
                self._drain(client)
            elif left:
                self.held[client] = None

        self.work.append((Peek([sub.name for sub, _ in picked]), settled))

    def _dispatch(
        self, client: Client, picked: list[tuple[Sub, float]], answer: Answer
    ) -> list[tuple[Sub, float]]:
        """Deliver what was read to those that are still what they were; who is left."""
        self._after("", answer)
        letters = answer.letters if isinstance(answer, Heads) else [None] * len(picked)
        left: list[tuple[Sub, float]] = []
        for (sub, since_s), letter in zip(picked, letters, strict=True):
            if client.subs.get(sub.name) is not sub or sub.delivered:
                continue  # another generation, or it went another way
            if isinstance(answer, Refused) or (letter and not client.writable):
                left.append((sub, since_s))
            elif letter:
                self._deliver(sub, letter)
        return left

    def ack(self, client: Client, name: str, position: int, done: Settle) -> None:
        """Delete a received message, then answer with the next one."""
        sub = client.subs.get(name)
        if sub is None or not sub.delivered:
            done(NOT_SUBSCRIBED)
            return
        if sub.delivered != position:
            done(WRONG_ID)
            return
        sub.delivered = -position

        def settled(answer: Answer) -> None:
            self._after(name, answer)
            if isinstance(answer, Refused) and sub.delivered == -position:
                sub.delivered = position
            if isinstance(answer, Taken):
                done(Taken(self._following(sub, answer.next)))
            else:
                done(answer)

        self.work.append((Take(name, position), settled))

    def _following(self, sub: Sub, letter: Letter | None) -> Letter | None:
        """The next message goes with the ack's answer, but not before what is ready already."""
        client = sub.client
        if client.subs.get(sub.name) is not sub:
            return None
        self.unacked.pop(sub, None)
        sub.delivered, sub.since = 0, None
        if letter is None:
            return None
        if client.ready or not client.writable:
            self._mark(client, sub.name)
            return None
        self._delivered(sub, letter.position)
        return letter

    def _after(self, name: str, answer: Answer) -> None:
        if isinstance(answer, Heads | Taken) and answer.stale:
            self.stale = True
        if isinstance(answer, Taken | Done) and answer.reopened:
            self._reopened(name)
