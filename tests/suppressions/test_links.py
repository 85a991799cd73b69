"""References, return paths and unsubscribe links: signed, bound to their recipient, and read back."""

import base64

import pytest

from postroad.model.ids import campaign_id, key_text
from postroad.model.keyring import KeyRing
from postroad.model.mail_links import MailLinks, Subscriber

ANN = "Ann@example.com"
REF = "cmp_7_12"
RING = KeyRing([("a", b"1" * 32)], bytes)
LINKS = MailLinks(RING, "https://road.example.com/", "bounces.example.com")


@pytest.mark.parametrize(
    "number", [1, (1 << 63) - 1, campaign_id(1, 1), campaign_id(1 << 30, 1 << 31)]
)
def test_a_reference_names_a_message_and_survives_a_change_of_case(number: int) -> None:
    reference = LINKS.reference(key_text(number), ANN)
    assert reference.isalnum()
    assert reference == reference.lower()
    assert len(LINKS.return_path(key_text(number), ANN).partition("@")[0]) <= 64
    assert LINKS.number(reference) == LINKS.number(reference.upper()) == number
    assert LINKS.is_for(reference, ANN.lower())
    assert not LINKS.is_for(reference, "bob@example.com")
    assert LINKS.reference(key_text(number), ANN) == reference, "the same over retries"


def test_no_letter_of_a_reference_can_be_changed() -> None:
    reference = LINKS.reference(REF, ANN)
    for place in range(len(reference)):
        other = "a" if reference[place] != "a" else "b"
        forged = reference[:place] + other + reference[place + 1 :]
        assert LINKS.number(forged) is None or not LINKS.is_for(forged, ANN)
    for bad in ("", "x", reference[:-1], reference + "a", "ü" * 39, "1" * 39, "a" * 39):
        assert LINKS.number(bad) is None
        assert not LINKS.is_for(bad, ANN)


def test_a_return_path_is_read_back_and_others_are_not_ours() -> None:
    path = LINKS.return_path(REF, ANN)
    reference = LINKS.reference(REF, ANN)
    assert path == f"b-{reference}@bounces.example.com"
    assert LINKS.returned(path) == LINKS.returned(path.upper()) == reference
    for other in (
        "",
        "@",
        reference,
        f"{reference}@bounces.example.com",
        f"b-{reference}@other.example.com",
        f"b-{reference[:-1]}@bounces.example.com",
        "postmaster@bounces.example.com",
    ):
        assert LINKS.returned(other) == ""


def test_a_link_names_tenant_message_and_recipient_and_cannot_be_changed() -> None:
    url = LINKS.unsubscribe_url("acme", REF, "jörg@example.com")
    assert url.startswith("https://road.example.com/unsubscribe?t=")
    token = url.partition("=")[2]
    assert LINKS.subscriber(token) == Subscriber("acme", REF, "jörg@example.com")
    data = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
    forged = data.replace(b"acme", b"acne")
    assert LINKS.subscriber(base64.urlsafe_b64encode(forged).decode().rstrip("=")) is None
    for bad in ("", "a", token[:-1], token[:30], "ü" * 40, "a" * 2_000, token + "A"):
        assert LINKS.subscriber(bad) is None, bad
    headers = LINKS.unsubscribe_headers("acme", REF, ANN)
    assert headers["List-Unsubscribe"] == f"<{LINKS.unsubscribe_url('acme', REF, ANN)}>"
    assert headers["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"


def test_what_an_older_key_signed_is_known_and_what_another_road_signed_is_not() -> None:
    newer = KeyRing([("b", b"2" * 32), ("a", b"1" * 32)], bytes)
    other = KeyRing([("b", b"2" * 32)], bytes)
    token = LINKS.unsubscribe_url("acme", REF, ANN).partition("=")[2]
    reference = LINKS.reference(REF, ANN)
    assert MailLinks(newer, "https://x").subscriber(token) is not None
    assert MailLinks(newer).number(reference) is not None
    assert MailLinks(newer).reference(REF, ANN) != reference
    assert MailLinks(other, "https://x").subscriber(token) is None
    assert MailLinks(other).number(reference) is None


def test_without_keys_or_settings_nothing_is_made_and_nothing_is_believed() -> None:
    bare = MailLinks(KeyRing([], bytes), "https://road.example.com", "bounces.example.com")
    assert (bare.reference(REF, ANN), bare.return_path(REF, ANN)) == ("", "")
    assert (bare.unsubscribe_url("a", REF, ANN), bare.unsubscribe_headers("a", REF, ANN)) == (
        "",
        {},
    )
    assert bare.subscriber(LINKS.unsubscribe_url("a", REF, ANN).partition("=")[2]) is None
    assert bare.number(LINKS.reference(REF, ANN)) is None
    unset = MailLinks(RING)
    assert (unset.return_path(REF, ANN), unset.unsubscribe_headers("a", REF, ANN)) == ("", {})
    assert unset.reference(REF, ANN)
