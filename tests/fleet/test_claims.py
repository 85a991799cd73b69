"""What a claim costs does not depend on what waits behind blocks. Small twins of the proofs."""

from proof import claims, fleet
from tests.fleet.claiming import Trickle
from tests.fleet.words import Work


def test_a_claim_beside_few_and_beside_many_blocked_messages() -> None:
    assert claims.prove(0, queues=1_000, few=1_000, many=20_000).holds


def test_claims_beside_an_open_transaction_are_counted() -> None:
    reached = claims.prove_pinned(5, Trickle(lanes=40, hot=2))
    assert reached.broken == 0


def test_many_lanes_with_one_message_each_are_drained() -> None:
    assert claims.prove_lanes(0, messages=1_000, lanes=20, rounds=1).reached > 0
