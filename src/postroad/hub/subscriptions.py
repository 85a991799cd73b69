"""Subscriptions. Each has one unacknowledged message, a mailbox has one subscriber, and the mailbox
that has been ready longest goes first."""

from collections.abc import Sequence
from typing import Final

from postroad.hub.frames import End, message
from postroad.hub.state import BoxTokens, HubState, OnAnswer
from postroad.hub.subscriber import Client, Subscription
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


class Subscriptions(HubState):
    """Delivers messages to subscribers, and takes their acks."""

    def subscribe(self, client: Client, asks: BoxTokens, done: OnAnswer) -> None:
        """Subscribe to these mailboxes. The answer is sent before their messages."""
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
        self.subs[name] = client.subs[name] = Subscription(name, client)

    def _forget(self, sub: Subscription) -> None:
        client, name = sub.client, sub.name
        self.unacked.pop(sub, None)
        client.ready.pop(name, None)
        if client.subs.get(name) is sub:
            del client.subs[name]
        if self.subs.get(name) is sub:
            del self.subs[name]

    def unsubscribe(self, client: Client, names: Sequence[str], done: OnAnswer) -> None:
        """End these subscriptions, in order with those made before. Messages without an ack
        wait."""

        def settled(_answer: Answer) -> None:
            for name in names:
                client.pulled.pop(name, None)
                sub = client.subs.get(name)
                if sub is not None:
                    self._forget(sub)
            done(DONE)

        self._look((), settled)

    def _deliver(self, sub: Subscription, letter: Letter) -> None:
        self._delivered(sub, letter.position)
        sub.client.link.put(message(sub.name, letter))

    def _delivered(self, sub: Subscription, position: int) -> None:
        sub.delivered = position
        sub.since = self.now_s()
        self.unacked[sub] = None

    def _mark(self, client: Client, name: str) -> None:
        client.mark(name, self.now_s())
        self._drain(client)

    def _drain(self, client: Client) -> None:
        """Read the heads of the mailboxes that have been ready longest, if the client reads."""
        if client.reading or not client.ready or not client.writable:
            return
        picked: list[tuple[Subscription, float]] = []
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
        self, client: Client, picked: list[tuple[Subscription, float]], answer: Answer
    ) -> list[tuple[Subscription, float]]:
        """Deliver what was read to subscriptions that have not changed; return the others."""
        self._after("", answer)
        letters = answer.letters if isinstance(answer, Heads) else [None] * len(picked)
        left: list[tuple[Subscription, float]] = []
        for (sub, since_s), letter in zip(picked, letters, strict=True):
            if client.subs.get(sub.name) is not sub or sub.delivered:
                continue  # another generation, or it went another way
            if isinstance(answer, Refused) or (letter and not client.writable):
                left.append((sub, since_s))
            elif letter:
                self._deliver(sub, letter)
        return left

    def ack(self, client: Client, name: str, position: int, done: OnAnswer) -> None:
        """A client confirms a message. The answer, with the next message, comes after the
        deletion."""
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

    def _following(self, sub: Subscription, letter: Letter | None) -> Letter | None:
        """The next message goes with the ack's answer, unless other mailboxes are ready already."""
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
