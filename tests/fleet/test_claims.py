"""What a claim costs does not depend on what waits behind blocks. Small twins of the proofs."""

from proof import claims
from tests.fleet.claiming import Trickle
from tests.servers.postgres import PrivatePostgres


def test_a_claim_beside_few_and_beside_many_blocked_messages(server: PrivatePostgres) -> None:
    assert claims.prove(0, queues=600, few=600, many=10_000, server=server).holds


def test_claims_beside_an_open_transaction_are_counted(server: PrivatePostgres) -> None:
    reached = claims.prove_pinned(5, Trickle(lanes=40, hot=2), server)
    assert reached.broken == 0


def test_many_lanes_with_one_message_each_are_drained(server: PrivatePostgres) -> None:
    assert claims.prove_lanes(0, messages=1_000, lanes=20, rounds=1, server=server).reached > 0
