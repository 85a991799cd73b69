"""Mail addresses and telephone numbers have one stored form, and bad ones say what is wrong."""

import time

import pytest

from postroad.model.errors import BadInput
from postroad.model.mail_address import PLAIN, normal_mail
from postroad.model.suppression import erased_form, folded, list_address, normal_recipient

STORED = {
    "ann@example.com": "ann@example.com",
    "Ann.Lee+news@EXAMPLE.Com": "Ann.Lee+news@example.com",
    "ann@example.com.": "ann@example.com",
    "ann@Bücher.example": "ann@xn--bcher-kva.example",
    "ann@XN--bcher-KVA.example": "ann@xn--bcher-kva.example",
    "jörg@example.com": "jörg@example.com",
    "o'neil@mail-1.example.co.uk": "o'neil@mail-1.example.co.uk",
    "ann@localhost": "ann@localhost",
    "ann@例え。テスト": "ann@xn--r8jz45g.xn--zckzah",
}
WRONG = {
    "": "write ann@example.com",
    "ann": "write ann@example.com",
    "@example.com": "write ann@example.com",
    "ann@": "write ann@example.com",
    "Ann <ann@example.com>": "bare address",
    "ann@example.com, bob@example.com": "bare address",
    '"ann lee"@example.com': "quotes and comments",
    "ann(work)@example.com": "quotes and comments",
    "ann @example.com": "blank",
    "ann\r\nBcc:x@example.com": "control",
    "ann\0@example.com": "control",
    "ann\u2028x@example.com": "control",
    ".ann@example.com": "dot",
    "ann..lee@example.com": "dot",
    "ann@lee@example.com": "character",
    "a" * 65 + "@example.com": "64 bytes",
    "ann@" + "a" * 64 + ".com": "no name",
    "ann@" + "a." * 200 + "com": "253",
    "ann@-x.com": "no name",
    "ann@exa mple.com": "blank",
    "ann@[127.0.0.1]": "brackets",
    "ann@127.0.0.1": "number",
    "ann@faß.example": "xn--",
    "ann@x\ud800.example": "",
}


@pytest.mark.parametrize("given", STORED)
def test_an_address_has_one_stored_form(given: str) -> None:
    found = normal_mail(given)
    assert found == STORED[given]
    assert normal_mail(found) == found


@pytest.mark.parametrize("given", WRONG)
def test_a_bad_address_says_what_is_wrong(given: str) -> None:
    with pytest.raises(BadInput, match="is no mail address") as error:
        normal_mail(given)
    assert WRONG[given] in str(error.value)


def test_what_needs_no_work_is_in_the_stored_form() -> None:
    for given, stored in STORED.items():
        assert given == stored or not PLAIN.fullmatch(given)


@pytest.mark.parametrize(
    "given", ["a." * 50_000, "@" * 100_000, "ü" * 100_000, "a@" + "ü." * 40_000]
)
def test_a_long_address_is_refused_at_once(given: str) -> None:
    begun = time.process_time()
    with pytest.raises(BadInput):
        normal_mail(given)
    assert time.process_time() - begun < 0.5


def test_a_recipient_is_a_mail_address_or_a_number_with_or_without_its_scheme() -> None:
    assert normal_recipient(" mailto:Ann@Example.COM ") == "Ann@example.com"
    assert normal_recipient("sms:+65 9123-4567") == "+6591234567"
    assert normal_recipient("whatsapp:+6591234567") == "+6591234567"
    kept = erased_form("a", "ann@example.com")
    assert normal_recipient(kept) == kept
    for wrong in ("https://example.com/x", "12", "ann", "sha256:12"):
        with pytest.raises(BadInput):
            normal_recipient(wrong)


def test_lists_are_searched_in_lower_case_of_ascii_alone() -> None:
    assert folded("ANN@example.com") == "ann@example.com"
    assert folded("ÄRNE@example.com") == "Ärne@example.com"
    assert list_address("mailto:ANN@Example.com") == "ann@example.com"
    assert list_address("https://example.com") == ""
    assert list_address(erased_form("a", "x@example.com")) == ""
    assert (
        erased_form("a", "ANN@x.org")
        == erased_form("a", "ann@x.org")
        != erased_form("b", "ann@x.org")
    )
