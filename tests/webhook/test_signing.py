"""Signatures: Standard Webhooks over the exact bytes, against the reference library."""

from base64 import b64decode, b64encode
from datetime import UTC, datetime

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from hypothesis import given
from hypothesis import strategies as st
from standardwebhooks import Webhook

from postroad.model.errors import BadInput
from postroad.transports.webhook.signing import Signer, public_key

ONE = "whsec_" + b64encode(b"1" * 24).decode()
TWO = "whsec_" + b64encode(b"2" * 64).decode()
ED = "whsk_" + b64encode(b"3" * 32).decode()


@given(
    key=st.binary(min_size=24, max_size=64),
    number=st.from_regex(r"msg_[0-9a-z]{13}", fullmatch=True),
    timestamp=st.integers(0, 2**33),
    body=st.text().map(str.encode),
)
def test_v1_is_what_the_reference_library_makes(
    key: bytes, number: str, timestamp: int, body: bytes
) -> None:
    secret = "whsec_" + b64encode(key).decode()
    moment = datetime.fromtimestamp(timestamp, UTC)
    expected = Webhook(secret).sign(number, moment, body.decode())
    assert Signer([secret]).sign(number, timestamp, body) == expected


def test_all_live_keys_sign_so_that_receivers_can_change_over() -> None:
    now = int(datetime.now(UTC).timestamp())
    body = b'{"a": 1}'
    header = Signer([TWO, ONE]).sign("msg_1", now, body)
    assert len(header.split(" ")) == 2
    headers = {"webhook-id": "msg_1", "webhook-timestamp": str(now), "webhook-signature": header}
    for secret in (ONE, TWO):
        assert Webhook(secret).verify(body.decode(), headers) == {"a": 1}


def test_v1a_is_verified_with_the_public_key_alone() -> None:
    body = b"\x00\xff not text"
    header = Signer([ED]).sign("msg_1", 12, body)
    version, _, signature = header.partition(",")
    assert version == "v1a"
    known = public_key(ED)
    assert known.startswith("whpk_")
    verifier = Ed25519PublicKey.from_public_bytes(b64decode(known.removeprefix("whpk_")))
    verifier.verify(b64decode(signature), b"msg_1.12." + body)
    with pytest.raises(InvalidSignature):
        verifier.verify(b64decode(signature), b"msg_1.13." + body)


def test_an_ed25519_key_may_carry_its_public_half() -> None:
    seed = b"3" * 32
    public = Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw()
    long = "whsk_" + b64encode(seed + public).decode()
    assert Signer([long]).sign("m", 1, b"") == Signer([ED]).sign("m", 1, b"")


@pytest.mark.parametrize(
    "secret",
    [
        "",
        "whsec_",
        "whsec_short",
        "whsec_" + "A" * 88 + "A",
        "whsk_AAAA",
        "not base64 at all!",
        "whsec_…",
    ],
)
def test_a_bad_secret_is_refused_and_not_shown(secret: str) -> None:
    with pytest.raises(BadInput) as refused:
        Signer([secret])
    assert not secret or secret.removeprefix("whsec_") not in str(refused.value) or len(secret) < 8


def test_no_more_than_ten_keys_are_live() -> None:
    with pytest.raises(BadInput, match="at most 10"):
        Signer([ONE] * 11)
