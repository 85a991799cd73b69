"""The hub's rules for those who are connected. It does no I/O: it gathers operations for the store,
and handles their answers in the same order."""

from collections import OrderedDict
from typing import Final

from postroad.hub.frames import End
from postroad.hub.state import LongPoll, OnAnswer
from postroad.hub.subscriber import Client
from postroad.hub.subscriptions import NOT_SUBSCRIBED, WRONG_ID, Subscriptions
from postroad.model.mailbox import (
    Answer,
    Done,
    Drop,
    Expire,
    Full,
    Get,
    Heads,
    Letter,
    Peek,
    Post,
    Posted,
    RefusalCode,
    Refused,
    Take,
    Taken,
)

PROHIBITED: Final = Refused(
    RefusalCode.prohibited,
    "a connection either subscribes to a mailbox or gets from it: unsub first",
)


class Core(Subscriptions):
    """Sends, gets, acks, deletes, and ends what has waited too long."""

    def pause(self, client: Client) -> None:
        """The client does not read what is written to it."""
        if client.paused_since is None and not client.gone:
            client.paused_since = self.now_s()
            self.paused[client] = None

    def resume(self, client: Client) -> None:
        """The client reads again."""
        client.paused_since = None
        self.paused.pop(client, None)
        client.flush()
        self._drain(client)

    def send(self, client: Client | None, post: Post, done: OnAnswer) -> None:
        """Store a message, and deliver it at once if somebody can take it."""

        def settled(answer: Answer) -> None:
            if isinstance(answer, Posted):
                self._arrived(post.name, answer)
            elif isinstance(answer, Full) and client is not None:
                self._watch(client, post.name)
            done(answer)

        self.work.append((post, settled))

    def _arrived(self, name: str, posted: Posted) -> None:
        if posted.head and name in self.waiters:
            self._hand_over(name, posted.letter)
        sub = self.subs.get(name)
        if sub is None or sub.delivered:
            return
        client = sub.client
        if posted.head and client.writable and not client.ready:
            self._deliver(sub, posted.letter)
        else:
            self._mark(client, name)

    def get(self, client: Client | None, get: Get, wait_s: float, done: OnAnswer) -> LongPoll:
        """Get the oldest message once, or wait for one. The answer is a Heads."""
        until_s = self.now_s() + min(wait_s, self.limits.wait_s_max)
        waiter = LongPoll(get.name, until_s, client)

        def handed(answer: Answer) -> None:
            if client is not None and not client.gone and isinstance(answer, Heads):
                (letter,) = answer.letters
                client.pulled[get.name] = letter.position if letter else 0
            done(answer)

        def settled(answer: Answer) -> None:
            self._after(get.name, answer)
            if client is not None and get.name in client.subs:
                done(PROHIBITED)
                return
            gone = waiter.until_s < 0 or (client is not None and client.gone)
            if wait_s > 0 and not gone and isinstance(answer, Heads) and answer.letters == [None]:
                if client is not None:
                    client.pulled[get.name] = 0
                    client.waits[waiter] = None
                self.waiters.setdefault(get.name, OrderedDict())[waiter] = None
            else:
                handed(answer)

        waiter.done = handed
        self.work.append((get, settled))
        return waiter

    def _hand_over(self, name: str, letter: Letter) -> None:
        waiter = next(iter(self.waiters[name]))
        self.give_up(waiter)
        waiter.done(Heads([letter]))

    def ack(self, client: Client, name: str, position: int, done: OnAnswer) -> None:
        """A client confirms a message that it got by subscription or by a get."""
        if name not in client.pulled:
            super().ack(client, name, position, done)
            return
        pulled = client.pulled[name]
        if not pulled or pulled != position:
            done(WRONG_ID if pulled else NOT_SUBSCRIBED)
            return

        def settled(answer: Answer) -> None:
            if isinstance(answer, Taken) and client.pulled.get(name) == position:
                client.pulled[name] = 0
            done(Taken() if isinstance(answer, Taken) else answer)

        self.take(Take(name, position), settled)

    def take(self, take: Take, done: OnAnswer) -> None:
        """Somebody without a connection confirms a message, and shows the token."""

        def settled(answer: Answer) -> None:
            self._after(take.name, answer)
            if isinstance(answer, Taken) and answer.next and take.name in self.waiters:
                self._hand_over(take.name, answer.next)
            done(answer)

        self.work.append((take, settled))

    def drop(self, drop: Drop, done: OnAnswer) -> None:
        """Delete a mailbox. Its subscriber gets END, and senders that wait for CONTINUE get it."""

        def settled(answer: Answer) -> None:
            if isinstance(answer, Done):
                sub = self.subs.get(drop.name)
                if sub is not None:
                    self._forget(sub)
                    sub.client.tell(End(box=drop.name, why="deleted"))
                self._reopened(drop.name)
            done(answer)

        self.work.append((drop, settled))

    def expire(self, name: str, position: int) -> None:
        """Delete messages up to this position, which are too old."""

        def settled(answer: Answer) -> None:
            self._after(name, answer)
            if not isinstance(answer, Done) or not answer.left:
                return
            sub = self.subs.get(name)
            if sub and not sub.delivered:
                self._mark(sub.client, name)
            if name in self.waiters:
                self.work.append((Peek([name]), came_forward))

        def came_forward(answer: Answer) -> None:
            self._after(name, answer)
            letter = answer.letters[0] if isinstance(answer, Heads) else None
            if letter and name in self.waiters:
                self._hand_over(name, letter)

        self.work.append((Expire(name, position), settled))

    @property
    def ticks(self) -> bool:
        """Whether anything has a deadline."""
        return bool(self.paused or self.waiters or self.held)

    def tick(self) -> None:
        """End what has waited too long, and read again what the store could not read."""
        now_s = self.now_s()
        for client in list(self.paused):
            since_s = client.paused_since
            if since_s is not None and now_s - since_s >= self.limits.stall_s:
                client.link.close(1008, f"nothing was taken for {self.limits.stall_s:g} s")
        over = [w for waiters in self.waiters.values() for w in waiters if w.until_s <= now_s]
        for waiter in over:
            self.give_up(waiter)
            waiter.done(Heads([None]))
        held, self.held = self.held, {}
        for client in held:
            self._drain(client)
