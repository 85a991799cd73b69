"""Presence: a silent worker's shards move within 15 s, a newcomer has its share at once."""

from hypothesis import given
from hypothesis import strategies as st

from postroad.stores.rabbitmq.fleet import presence
from postroad.stores.rabbitmq.fleet.presence import (
    BEAT_S,
    SILENT_S,
    PresenceKind,
    PresenceMessage,
    Roster,
)
from postroad.stores.rabbitmq.fleet.rendezvous import share_of

SHARDS = 8
MOVED_WITHIN_S = 15.0
workers = st.sampled_from(["ada", "bob", "cyd", "dan"])


class World:
    """Some workers, each with its own roster; what one says all others hear at once. Each looks
    at its roster at every beat, and serves what it thinks is its own."""

    def __init__(self) -> None:
        self.now_s = 0.0
        self.rosters: dict[str, Roster] = {}
        self.beats_s: dict[str, float] = {}
        self.shares: dict[str, frozenset[int]] = {}

    def join(self, name: str) -> None:
        self.rosters[name] = Roster(name)
        self.broadcast(name, "hello")
        for other in list(self.rosters):
            if other != name:
                self.broadcast(other, "here")
        self.beats_s[name] = self.now_s + BEAT_S
        for other in self.rosters:
            self.look(other)

    def broadcast(self, name: str, word: PresenceKind) -> None:
        for roster in self.rosters.values():
            roster.receive(PresenceMessage(name, word), self.now_s)

    def look(self, name: str) -> None:
        self.shares[name] = share_of(name, SHARDS, self.rosters[name].alive)

    def kill(self, name: str) -> None:
        for known in (self.rosters, self.beats_s, self.shares):
            del known[name]

    def leave(self, name: str) -> None:
        self.broadcast(name, "bye")
        self.kill(name)
        for other in self.rosters:
            self.look(other)

    def advance(self, seconds: float) -> None:
        until_s = self.now_s + seconds
        while self.beats_s and min(self.beats_s.values()) <= until_s:
            name = min(self.beats_s, key=lambda one: (self.beats_s[one], one))
            self.now_s = self.beats_s[name]
            self.broadcast(name, "here")
            self.look(name)
            self.beats_s[name] = self.now_s + BEAT_S
        self.now_s = until_s

    def served_once(self) -> bool:
        served = [shard for share in self.shares.values() for shard in share]
        return sorted(served) == list(range(SHARDS))


moves = st.lists(
    st.tuples(st.sampled_from(["join", "kill", "leave"]), workers, st.floats(0, 20)), max_size=12
)


@given(moves)
def test_within_15_s_of_whatever_happens_each_shard_is_served_by_one(
    story: list[tuple[str, str, float]],
) -> None:
    world = World()
    for what, name, rest_s in [*story, ("join", "eve", 0.0)]:
        if what == "join" and name not in world.rosters:
            world.join(name)
        elif what != "join" and name in world.rosters:
            getattr(world, what)(name)
        world.advance(rest_s)
    world.advance(MOVED_WITHIN_S)
    assert world.served_once()


def test_a_silent_workers_shards_move_within_15_s_and_not_for_one_lost_beat() -> None:
    world = World()
    world.join("ada")
    world.join("bob")
    world.advance(60)
    assert len(world.shares["ada"]) == SHARDS // 2
    del world.beats_s["bob"]  # it hangs
    world.advance(2 * BEAT_S)
    assert len(world.shares["ada"]) == SHARDS // 2
    world.advance(MOVED_WITHIN_S - 2 * BEAT_S)
    assert len(world.shares["ada"]) == SHARDS


def test_a_newcomer_and_the_others_agree_at_once() -> None:
    world = World()
    for name in ("ada", "bob", "cyd"):
        world.join(name)
        assert world.served_once()


def test_one_that_says_goodbye_is_replaced_at_once() -> None:
    world = World()
    world.join("ada")
    world.join("bob")
    world.leave("bob")
    assert world.served_once()


def test_the_silence_leaves_room_for_three_lost_beats() -> None:
    assert 3 * BEAT_S < SILENT_S <= MOVED_WITHIN_S - BEAT_S


def test_words_of_strangers_are_no_signs() -> None:
    said = presence.write(PresenceMessage("ada", "hello"))
    assert presence.read(said) == PresenceMessage("ada", "hello")
    for body in (b"", b"{}", b"\xff", b'{"worker": "x", "word": "later"}', said[:-1]):
        assert presence.read(body) is None


def test_a_roster_after_a_lost_link_knows_only_itself() -> None:
    roster = Roster("ada")
    roster.receive(PresenceMessage("bob", "here"), 0.0)
    assert roster.alive == {"ada", "bob"}
    roster.forget()
    assert roster.alive == {"ada"}


def test_nobody_is_silent_while_our_own_words_do_not_come_through() -> None:
    roster = Roster("ada")
    roster.receive(PresenceMessage("ada", "here"), 0.0)
    roster.receive(PresenceMessage("bob", "here"), 0.0)
    roster.receive(PresenceMessage("cyd", "here"), 10 * SILENT_S)
    assert roster.alive == {"ada", "bob", "cyd"}
    roster.receive(PresenceMessage("ada", "here"), 10 * SILENT_S)
    assert roster.alive == {"ada", "cyd"}
