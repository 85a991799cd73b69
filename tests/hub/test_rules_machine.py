"""The rules against a naive model: lists of messages, and who should hold what."""

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from postroad.model.mailbox import (
    DENIED,
    FULL,
    Done,
    Drop,
    Get,
    Heads,
    HubLimits,
    Looked,
    Post,
    Posted,
    RefusalCode,
    Refused,
    Taken,
)
from tests.hub.hall import Got, Hall, ack_settle, new_box, recipient, sender

NAMES = ("a", "b", "c", "d")
CLIENTS = 3
QUOTA = 3
names = st.sampled_from(NAMES)
clients = st.integers(0, CLIENTS - 1)


class NaiveBox:
    def __init__(self) -> None:
        self.letters: list[int] = []
        self.next = 1
        self.over = False


class NaiveClient:
    def __init__(self) -> None:
        self.subs: dict[str, int] = {}  # 0: idle, else the message that waits for its ack
        self.pulled: dict[str, int] = {}
        self.paused = False
        self.got: list[tuple[str, int]] = []
        self.ended: list[tuple[str, str]] = []
        self.continued: list[str] = []
        self.watching: set[str] = set()
        self.kept: list[tuple[str, str]] = []


class Rules(RuleBasedStateMachine):
    @initialize()
    def start(self) -> None:
        self.hall = Hall(HubLimits(dispatch=2))
        self.boxes: dict[str, NaiveBox] = {}
        self.clients: list[NaiveClient] = []
        self.real = [self.hall.connect() for _ in range(CLIENTS)]
        self.clients = [NaiveClient() for _ in range(CLIENTS)]
        for name in NAMES:
            self.make(name)

    def make(self, name: str) -> None:
        self.hall.create(new_box(name, QUOTA))
        self.boxes[name] = NaiveBox()

    # What should happen, said as plainly as possible

    def settle(self) -> None:
        """Every idle subscription of a client that reads holds its mailbox's oldest message."""
        for client in self.clients:
            for name, delivered in list(client.subs.items()):
                letters = self.boxes[name].letters
                if letters and not delivered and not client.paused:
                    client.subs[name] = letters[0]
                    client.got.append((name, letters[0]))

    def tell(self, client: NaiveClient, kind: str, name: str, why: str = "") -> None:
        if client.paused:
            client.kept.append((kind, f"{name} {why}"))
        elif kind == "end":
            client.ended.append((name, why))
        else:
            client.continued.append(name)

    def remove(self, name: str, position: int) -> None:
        box = self.boxes[name]
        box.letters = [letter for letter in box.letters if letter > position]
        if box.over and not box.letters:
            self.reopen(name)

    def reopen(self, name: str) -> None:
        self.boxes[name].over = False
        for client in self.clients:
            if name in client.watching:
                client.watching.discard(name)
                self.tell(client, "continue", name)

    # The rules

    @rule(name=names)
    def create(self, name: str) -> None:
        if name not in self.boxes:
            self.make(name)

    @rule(who=clients, name=names, honest=st.integers(0, 4))
    def send(self, who: int, name: str, honest: int) -> None:
        got = Got()
        token = sender(name) if honest else recipient(name)
        self.hall.core.send(self.real[who][0], Post(name, token, True, b"x"), got)
        self.hall.run()
        box = self.boxes.get(name)
        if box is None or not honest:
            assert got.only == DENIED
            return
        if box.over or len(box.letters) >= QUOTA:
            box.over = True
            self.clients[who].watching.add(name)
            assert got.only == FULL
            return
        assert isinstance(got.only, Posted)
        assert got.only.letter.position == box.next
        box.letters.append(box.next)
        box.next += 1
        self.settle()

    @rule(
        who=clients, chosen=st.lists(names, min_size=1, max_size=4, unique=True), bad=st.booleans()
    )
    def subscribe(self, who: int, chosen: list[str], bad: bool) -> None:  # noqa: FBT001
        got = Got()
        asks = [(name, recipient(name)) for name in chosen]
        if bad:
            asks[0] = (chosen[0], sender(chosen[0]))
        self.hall.core.subscribe(self.real[who][0], asks, got)
        self.hall.run()
        mine = self.clients[who]
        fine = [
            name in self.boxes and name not in mine.pulled and not (bad and place == 0)
            for place, name in enumerate(chosen)
        ]
        assert isinstance(got.only, Looked)
        assert [waiting is not None for waiting in got.only.waiting] == fine
        for name, ok in zip(chosen, fine, strict=True):
            if not ok:
                continue
            for other in self.clients:
                if other is not mine and name in other.subs:
                    del other.subs[name]
                    self.tell(other, "end", name, "taken over")
            mine.subs[name] = 0
        self.settle()

    @rule(who=clients, name=names, off=st.integers(-1, 3))
    def ack(self, who: int, name: str, off: int) -> None:
        mine = self.clients[who]
        client, wire = self.real[who]
        held = mine.pulled[name] if name in mine.pulled else mine.subs.get(name, 0)
        position = max(held + (off if off in (-1, 1) else 0), 0)
        got = Got()
        self.hall.core.ack(client, name, position, ack_settle(wire, name, position, got))
        self.hall.run()
        if not held:
            assert isinstance(got.only, Refused)
            assert got.only.code is RefusalCode.not_subscribed
        elif position != held:
            assert isinstance(got.only, Refused)
            assert got.only.code is RefusalCode.wrong_id
        elif name not in self.boxes:
            assert got.only == DENIED
        elif held >= self.boxes[name].next:  # of a mailbox that was deleted and made again
            assert isinstance(got.only, Refused)
        else:
            assert isinstance(got.only, Taken)
            if name in mine.pulled:
                mine.pulled[name] = 0
            else:
                mine.subs[name] = 0
            self.remove(name, position)
            self.settle()

    @rule(who=clients, name=names)
    def get(self, who: int, name: str) -> None:
        got = Got()
        self.hall.core.get(self.real[who][0], Get(name, recipient(name)), 0.0, got)
        self.hall.run()
        mine = self.clients[who]
        if name in mine.subs:
            assert isinstance(got.only, Refused)
            assert got.only.code is RefusalCode.prohibited
        elif name not in self.boxes:
            assert got.only == DENIED
        else:
            letters = self.boxes[name].letters
            assert isinstance(got.only, Heads)
            (letter,) = got.only.letters
            assert (letter.position if letter else 0) == (letters[0] if letters else 0)
            mine.pulled[name] = letters[0] if letters else 0

    @rule(who=clients, name=names)
    def unsubscribe(self, who: int, name: str) -> None:
        got = Got()
        self.hall.core.unsubscribe(self.real[who][0], [name], got)
        self.hall.run()
        assert got.only == Done()
        self.clients[who].subs.pop(name, None)
        self.clients[who].pulled.pop(name, None)

    @rule(name=names)
    def delete(self, name: str) -> None:
        got = Got()
        self.hall.core.drop(Drop(name, recipient(name)), got)
        self.hall.run()
        if name not in self.boxes:
            assert got.only == DENIED
            return
        assert isinstance(got.only, Done)
        for client in self.clients:
            if name in client.subs:
                del client.subs[name]
                self.tell(client, "end", name, "deleted")
        self.reopen(name)
        del self.boxes[name]

    @rule(name=names, upto=st.integers(0, 6))
    def expire(self, name: str, upto: int) -> None:
        self.hall.core.expire(name, upto)
        self.hall.run()
        if name in self.boxes:
            self.remove(name, upto)
            self.settle()

    @rule(who=clients)
    def pause(self, who: int) -> None:
        self.hall.core.pause(self.real[who][0])
        self.clients[who].paused = True

    @rule(who=clients)
    def resume(self, who: int) -> None:
        self.hall.core.resume(self.real[who][0])
        self.hall.run()
        mine = self.clients[who]
        mine.paused = False
        kept, mine.kept = mine.kept, []
        for kind, words in kept:
            name, _, why = words.partition(" ")
            self.tell(mine, kind, name, why)
        self.settle()

    @rule(who=clients)
    def reconnect(self, who: int) -> None:
        self.hall.core.disconnect(self.real[who][0])
        self.real[who] = self.hall.connect()
        self.clients[who] = NaiveClient()

    # What must be so at any time

    @invariant()
    def as_the_model_says(self) -> None:
        if not hasattr(self, "hall"):
            return
        assert self.hall.stored() == {name: box.letters for name, box in self.boxes.items()}
        for (client, wire), naive in zip(self.real, self.clients, strict=True):
            assert {name: sub.delivered for name, sub in client.subs.items()} == naive.subs
            assert client.pulled == naive.pulled
            assert sorted(wire.messages()) == sorted(naive.got)
            assert wire.ended() == naive.ended
            assert wire.continued() == naive.continued
            assert client.watching == naive.watching
            assert len(client.ready) <= len(client.subs)

    @invariant()
    def nothing_is_left_behind(self) -> None:
        if not hasattr(self, "hall"):
            return
        core = self.hall.core
        alive = [client for client, _ in self.real]
        assert set(core.clients.values()) == set(alive)
        owned = {name: sub for client in alive for name, sub in client.subs.items()}
        assert core.subs == owned
        assert set(core.unacked) == {sub for sub in owned.values() if sub.delivered}
        watched = {(n, c) for n, watchers in core.watchers.items() for c in watchers}
        assert watched == {(n, c) for c in alive for n in c.watching}
        assert not core.held
        assert not core.waiters


def test_the_rules_are_those_of_the_naive_model() -> None:
    """Many more stories in `make proof ITEM=hub-orders`."""
    compare_rules(examples=25)


def compare_rules(examples: int) -> None:
    """So many stories, told to the hub and to the naive model."""
    run_state_machine_as_test(
        Rules,
        settings=settings(
            max_examples=examples,
            stateful_step_count=40,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow],
        ),
    )
