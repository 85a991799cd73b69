import pytest

from postroad.model.errors import BadInput
from postroad.transports.smtp.dkim import read_keys, relaxed_body, signature
from postroad.transports.smtp.mime import MailHead, MailText, build
from tests.mail.signing import ED25519, RSA, pem, verified

KEYS = read_keys("example.com", "r, e", pem(RSA) + pem(ED25519))
LEAVING = {
    "List-Unsubscribe": "<https://example.com/unsubscribe?t=abc>",
    "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
    "Feedback-ID": "1:a:campaign:b",
}
TEXTS = {
    "plain": "Hello\n",
    "blanks": "a  b \t c   \n\n\n d\t\n \n\n",
    "no end": "Hello",
    "dots": ".\n..\n",
    "not ASCII": "Grüße\n" * 40,
    "empty lines": "\n\n\n",
    "long": "x" * 3_000,
}


def signed(text: str, html: str = "", subject: str = "Hi  there") -> tuple[bytes, bytes, bytes]:
    head = MailHead("Lee <lee@example.com>", "ann@example.org", "r" * 40, 1_700_000_000, LEAVING)
    header, body = build(head, MailText(subject, text, html))
    return signature(KEYS, header, body, 1_700_000_000), header, body


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_another_implementation_verifies_both_signatures(text: str) -> None:
    signatures, header, body = signed(text, "<p>x</p>", "Grüße " * 20)
    assert verified(signatures + header + b"\r\n" + body) == [True, True]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (b"Subject: Hi", b"Subject: Ho"),
        (b"Hello", b"Hallo"),
        (b"One-Click", b"Two-Click"),
        (b"/unsubscribe?", b"/elsewhere?"),
        (b"Feedback-ID: 1", b"Feedback-ID: 2"),
        (b"From: Lee", b"From: Eve <eve@example.com>\r\nFrom: Lee"),
    ],
)
def test_what_is_changed_on_the_way_is_found(before: bytes, after: bytes) -> None:
    whole = b"\r\n".join(signed("Hello\n")[1:])
    assert before in whole
    mail = signed("Hello\n")[0] + whole.replace(before, after, 1)
    assert verified(mail) == [False, False]


def test_one_click_headers_are_under_the_signature() -> None:
    named = signed("x")[0].replace(b"\r\n ", b"").lower()
    for name in (b"list-unsubscribe:", b"list-unsubscribe-post:", b"feedback-id:", b"from:from"):
        assert name.rstrip(b":") in named


@pytest.mark.parametrize(
    ("body", "canonical"),
    [
        (b"", b""),
        (b"\r\n\r\n", b""),
        (b" c \r\nd \t e\r\n\r\n\r\n", b" c\r\nd e\r\n"),
        (b"x", b"x\r\n"),
        (b"x \t", b"x\r\n"),
    ],
)
def test_the_body_is_canonicalised_as_the_standard_says(body: bytes, canonical: bytes) -> None:
    assert relaxed_body(body) == canonical


@pytest.mark.parametrize(
    ("selectors", "keys"),
    [
        ("r", ""),
        ("", pem(RSA)),
        ("r", pem(RSA) + pem(ED25519)),
        ("r", "-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----"),
        ("r", "secret"),
    ],
)
def test_keys_that_cannot_sign_are_refused_and_not_shown(selectors: str, keys: str) -> None:
    with pytest.raises(BadInput, match="dkim_") as refused:
        read_keys("example.com", selectors, keys)
    assert "secret" not in str(refused.value)
    assert "c2VjcmV0" not in str(refused.value)
