"""What the log shows of a request: no secret, whoever set it."""

import msgspec

from postroad.model.webhook import Hook
from postroad.transports.webhook.endpoints import Endpoint
from postroad.transports.webhook.requests import begin
from postroad.transports.webhook.signing import Signer
from postroad.transports.webhook.target import read
from tests.webhook.conftest import LOCAL


def test_a_messages_own_secrets_are_sent_and_not_shown() -> None:
    endpoint = Endpoint(Hook(), {}, {}, Signer(()), 1_000, 1_000)
    own = {
        "Authorization": "Bearer hush",
        "x-api-key": "hush",
        "Cookie": "a=hush",
        "x-auth-token": "hush",
        "x-shop": "7",
    }
    begun = begin(read("http://hook.example/", LOCAL), endpoint, msgspec.json.encode(own))
    assert begun.wire.count(b"hush") == 4
    assert b"hush" not in begun.shown
    shown = msgspec.json.decode(begun.shown.rstrip(b",") + b"}")
    assert (shown["authorization"], shown["x-shop"]) == ("…", "7")


def test_an_answer_is_kept_without_the_longer_secrets_in_it() -> None:
    endpoint = Endpoint(Hook(), {}, {}, Signer(()), 1_000, 1_000)
    own = {"Authorization": "Bearer abcdefgh.ij", "Cookie": "id=klmnopqrst; a=b", "x-api-key": "7"}
    begun = begin(read("http://hook.example/", LOCAL), endpoint, msgspec.json.encode(own))
    for said, kept in (
        (b"you are abcdefgh.ij", "you are …"),
        (b"Bearer abcdefgh.ij", "…"),
        (b"cookie klmnopqrst", "cookie …"),
        (b"7 of 77", "7 of 77"),
        (b"", ""),
    ):
        assert begun.veiled(said) == kept.encode()
