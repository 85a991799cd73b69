"""Commands that come while others are still being committed, in every order that chance finds."""

from hypothesis import given, settings
from hypothesis import strategies as st

from postroad.hub.subscriber import Client
from postroad.model.mailbox import Answer, HubLimits, Post, Posted, Taken
from tests.hub.hall import Got, Hall, Wire, ack_settle, new_box, recipient, sender

NAMES = ("a", "b")
Step = tuple[str, int, str]
STEPS = st.lists(
    st.tuples(
        st.sampled_from(("send", "sub", "ack", "turn", "turn", "pause", "resume", "leave")),
        st.integers(0, 1),
        st.sampled_from(NAMES),
    ),
    min_size=10,
    max_size=60,
)


class Story:
    """Two clients and two mailboxes; what was promised, and what was seen."""

    def __init__(self) -> None:
        self.hall = Hall(HubLimits(dispatch=2, commit_max=3))
        self.hall.create(*[new_box(name, quota=1_000) for name in NAMES])
        self.accepted: dict[str, list[int]] = {name: [] for name in NAMES}
        self.acked: set[tuple[str, int]] = set()
        self.clients: list[tuple[Client, Wire]] = [self.hall.connect() for _ in range(2)]
        self.seen = [0, 0]

    def step(self, what: str, who: int, name: str) -> None:
        core = self.hall.core
        client, wire = self.clients[who]
        match what:
            case "send":
                core.send(client, Post(name, sender(name), True, b"x"), self.noted(name))
            case "sub":
                core.subscribe(client, [(name, recipient(name))], Got())
            case "ack" if name in client.subs and client.subs[name].delivered > 0:
                self.ack(client, wire, name)
            case "pause":
                core.pause(client)
            case "resume":
                core.resume(client)
            case "leave":
                core.disconnect(client)
                self.clients[who], self.seen[who] = self.hall.connect(), 0
            case _:
                self.hall.turn()

    def noted(self, name: str):  # type: ignore[no-untyped-def]
        def settled(answer: Answer) -> None:
            assert isinstance(answer, Posted)
            self.accepted[name].append(answer.letter.position)

        return settled

    def ack(self, client: Client, wire: Wire, name: str) -> None:
        position = client.subs[name].delivered
        got = Got()
        answer = ack_settle(wire, name, position, got)

        def settled(said: Answer) -> None:
            if isinstance(said, Taken):
                self.acked.add((name, position))
            answer(said)

        self.hall.core.ack(client, name, position, settled)

    def check(self) -> None:
        """Nothing that was acked comes again, and nothing comes out of order."""
        for who, (client, wire) in enumerate(self.clients):
            came = wire.messages()
            for name, position in came[self.seen[who] :]:
                assert (name, position) not in self.acked, f"{name} {position} came again"
                earlier = {at for box, at in self.acked if box == name and at < position}
                assert earlier == set(range(1, position)), f"{name} {position} came too early"
            self.seen[who] = len(came)
            assert len(client.ready) <= len(client.subs)

    def drain(self) -> list[tuple[str, int]]:
        """A last client subscribes to everything, and gets what was not acked, in order."""
        self.hall.run()
        for client, _ in self.clients:
            self.hall.core.disconnect(client)
        client, wire = self.hall.connect()
        self.hall.core.subscribe(client, [(name, recipient(name)) for name in NAMES], Got())
        self.hall.run()
        while any(sub.delivered > 0 for sub in client.subs.values()):
            for name in NAMES:
                if client.subs[name].delivered > 0:
                    self.ack(client, wire, name)
            self.hall.run()
        return wire.messages()


def test_whatever_is_under_way_nothing_is_lost_repeated_or_early() -> None:
    """Many more of them in `make proof ITEM=hub-orders`."""
    interleave(examples=60)


def interleave(examples: int) -> None:
    """So many orders of commands, each lived through."""
    settings(max_examples=examples, deadline=None)(given(STEPS)(_live))()


def _live(steps: list[Step]) -> None:
    story = Story()
    for step in steps:
        story.step(*step)
        story.check()
    story.hall.run()
    story.check()
    left = {
        (name, at) for name in NAMES for at in story.accepted[name] if (name, at) not in story.acked
    }
    came = story.drain()
    assert set(came) == left, "what was accepted and not acked comes, and nothing else"
    assert len(came) == len(left)
    for name in NAMES:
        ordered = [at for box, at in came if box == name]
        assert ordered == sorted(ordered)
    assert story.hall.stored() == {name: [] for name in NAMES}
