"""What a hub knows and does not store: connections, subscriptions, who waits for a CONTINUE, and
the work for the store."""

from collections import OrderedDict, deque
from collections.abc import Callable, Sequence

from postroad.hub.frames import Continue
from postroad.hub.subscriber import Client, ClientLink, Subscription
from postroad.model.mailbox import Answer, HubLimits, Op, Watch, Watched

OnAnswer = Callable[[Answer], None]
BoxTokens = Sequence[tuple[str, bytes]]


class LongPoll:
    """A long poll that has found nothing yet."""

    __slots__ = ("client", "done", "name", "until_s")

    def __init__(self, name: str, until_s: float, client: Client | None) -> None:
        self.name = name
        self.until_s = until_s
        self.client = client
        self.done: OnAnswer = lambda _answer: None


class HubState:
    """The state of the hub that is not stored. `now_s` is a steady clock."""

    def __init__(self, now_s: Callable[[], float], limits: HubLimits) -> None:
        self.limits = limits
        self.now_s = now_s
        self.subs: dict[str, Subscription] = {}
        self.clients: dict[int, Client] = {}
        self.unacked: dict[Subscription, None] = {}
        """In order of delivery."""
        self.watchers: dict[str, dict[Client, None]] = {}
        self.waiters: dict[str, OrderedDict[LongPoll, None]] = {}
        self.paused: dict[Client, None] = {}
        self.held: dict[Client, None] = {}
        """Clients for which something is ready that the store could not read."""
        self.takeovers = 0
        self.stale = False
        """Whether something too old lies at the head of a mailbox: a sweep is due."""
        self.work: deque[tuple[Op, OnAnswer]] = deque()
        self.looks: deque[tuple[BoxTokens, OnAnswer]] = deque()
        self._to_look = 0
        self._numbers = 0

    def batch(self) -> list[tuple[Op, OnAnswer]]:
        """Take the next operations, for one commit."""
        work = self.work
        return [work.popleft() for _ in range(min(len(work), self.limits.commit_max))]

    def next_looks(self) -> list[tuple[BoxTokens, OnAnswer]]:
        """Take the next subscriptions, for one query. Their number is bounded, so that a storm of
        them leaves little memory behind."""
        looks: list[tuple[BoxTokens, OnAnswer]] = []
        names = 0
        while self.looks and (not looks or names + len(self.looks[0][0]) <= self.limits.look_max):
            looks.append(self.looks.popleft())
            names += len(looks[-1][0])
        self._to_look -= names
        return looks

    @property
    def lookups_full(self) -> bool:
        """Whether so many lookups wait that further frames stay undecoded."""
        return self._to_look >= self.limits.look_max

    def _look(self, asks: BoxTokens, settled: OnAnswer) -> None:
        self.looks.append((asks, settled))
        self._to_look += len(asks)

    def connect(self, link: ClientLink) -> Client:
        """Add a client."""
        self._numbers += 1
        client = self.clients[self._numbers] = Client(link, self._numbers)
        return client

    def disconnect(self, client: Client) -> None:
        """Remove a client. Messages that it did not ack wait for the next subscriber."""
        client.gone = True
        self.clients.pop(client.number, None)
        self.paused.pop(client, None)
        self.held.pop(client, None)
        for sub in client.subs.values():
            self.unacked.pop(sub, None)
            if self.subs.get(sub.name) is sub:
                del self.subs[sub.name]
        for name in client.watching:
            self._unwatch(client, name)
        for waiter in list(client.waits):
            self.give_up(waiter)
        client.subs, client.pulled, client.watching = {}, {}, set()
        client.ready.clear()
        client.notices = []

    def give_up(self, waiter: LongPoll) -> None:
        """End a long poll whose client is gone, or that has waited long enough."""
        waiter.until_s = -1.0
        if waiter.client is not None:
            waiter.client.waits.pop(waiter, None)
        waiters = self.waiters.get(waiter.name)
        if waiters and waiter in waiters:
            del waiters[waiter]
            if not waiters:
                del self.waiters[waiter.name]

    def watch(self, client: Client, watch: Watch, done: OnAnswer) -> None:
        """Tell this client when these mailboxes are open; at once for those that are."""

        def settled(answer: Answer) -> None:
            done(answer)
            if not isinstance(answer, Watched):
                return
            for (name, _), is_open in zip(watch.asks, answer.open, strict=True):
                if is_open:
                    client.tell(Continue(box=name))
                elif is_open is False:
                    self._watch(client, name)

        self.work.append((watch, settled))

    def _watch(self, client: Client, name: str) -> None:
        if not client.gone and len(client.watching) < self.limits.watches_max:
            client.watching.add(name)
            self.watchers.setdefault(name, {})[client] = None

    def _unwatch(self, client: Client, name: str) -> None:
        watchers = self.watchers.get(name, {})
        watchers.pop(client, None)
        if not watchers:
            self.watchers.pop(name, None)

    def _reopened(self, name: str) -> None:
        for client in self.watchers.pop(name, {}):
            client.watching.discard(name)
            client.tell(Continue(box=name))
