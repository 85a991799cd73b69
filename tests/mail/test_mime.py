import email
import email.policy
from email.message import EmailMessage

import pytest

from postroad.transports.smtp.dialogue import END
from postroad.transports.smtp.html_text import text_of
from postroad.transports.smtp.mime import (
    MailHead,
    MailPart,
    MailText,
    base64_lines,
    build,
    wire,
)

HTML = "<html><head><style>p {}</style></head><body><p>Hello <b>Ann</b>,</p>"
HTML += "<p>see <a href='https://example.com/x?a=1&amp;b=2'>this</a>.</p></body></html>"
LONG = "word " * 300


def head(sender: str = "Lee <lee@example.com>", **headers: str) -> MailHead:
    return MailHead(sender, "ann@example.org", "ref" * 13, 1_700_000_000, headers)


def read(parts: tuple[bytes, bytes]) -> EmailMessage:
    whole = b"\r\n".join(parts)
    assert max(map(len, whole.split(b"\r\n"))) <= 998
    assert whole.isascii()
    assert b"\n" not in whole.replace(b"\r\n", b"")
    made = email.message_from_bytes(whole, policy=email.policy.default)
    assert not made.defects
    return made


def part(mail: EmailMessage, kind: str) -> str:
    found = mail.get_body((kind,))
    assert found is not None
    return str(found.get_content()).replace("\r\n", "\n")


@pytest.mark.parametrize(
    "subject", ["Hi", "Grüße aus Köln", "漢字" * 60, "x" * 200, LONG[:450], "a =? b", "  odd  "]
)
def test_another_parser_reads_the_subject_as_it_was_given(subject: str) -> None:
    said = read(build(head(), MailText(subject, "x")))["subject"]
    assert said.strip() == " ".join(subject.split(" ")).strip()


@pytest.mark.parametrize("text", ["plain\n", "ä" * 100 + "\n", "漢字\n" * 50, LONG, ".\n..\n. x\n"])
def test_another_parser_reads_the_text_as_it_was_given(text: str) -> None:
    mail = read(build(head(), MailText("Hi", text)))
    assert part(mail, "plain") == text


def test_text_and_html_are_alternatives() -> None:
    mail = read(build(head(), MailText("Hi", "Hello\n", HTML)))
    assert mail.get_content_type() == "multipart/alternative"
    assert (part(mail, "plain"), part(mail, "html").rstrip("\n")) == ("Hello\n", HTML)


def test_the_text_is_made_of_the_html_when_there_is_none() -> None:
    mail = read(build(head(), MailText("Hi", "", HTML)))
    assert part(mail, "plain") == "Hello Ann,\n\nsee this (https://example.com/x?a=1&b=2).\n"


def test_files_and_images_stand_where_readers_look_for_them() -> None:
    image = MailPart("logo.png", "image/png", base64_lines(b"\x89PNG" * 100), "logo")
    file = MailPart("Rechnung März.pdf", "application/pdf", base64_lines(b"%PDF" * 100))
    mail = read(build(head(), MailText("Hi", "Hello\n", HTML, (image, file))))
    kinds = [one.get_content_type() for one in mail.walk()]
    assert kinds == [
        "multipart/mixed",
        "multipart/alternative",
        "text/plain",
        "multipart/related",
        "text/html",
        "image/png",
        "application/pdf",
    ]
    (pdf,) = mail.iter_attachments()
    assert (pdf.get_filename(), pdf.get_content()) == ("Rechnung März.pdf", b"%PDF" * 100)
    shown = [one for one in mail.walk() if one["content-id"]]
    assert [(one["content-id"], one.get_content()) for one in shown] == [
        ("<logo>", b"\x89PNG" * 100)
    ]


@pytest.mark.parametrize(
    ("sender", "name"),
    [
        ("lee@example.com", ""),
        ("Ann Lee <lee@example.com>", "Ann Lee"),
        ('"Lee, \\"Ann\\"" <lee@example.com>', 'Lee, "Ann"'),
        ("Jürgen Lee <lee@example.com>", "Jürgen Lee"),
    ],
)
def test_another_parser_reads_the_sender_as_it_was_given(sender: str, name: str) -> None:
    mail = read(build(head(sender), MailText("Hi", "x")))
    (address,) = mail["from"].addresses
    assert (address.display_name, address.addr_spec) == (name, "lee@example.com")
    assert mail["message-id"] == f"<{'ref' * 13}@example.com>"


def test_long_headers_are_folded_and_read_back() -> None:
    own = head(**{"X-Long": LONG[:900].strip(), "Reply-To": "Bö <b@example.com>"})
    mail = read(build(own, MailText("Hi", "x")))
    assert mail["x-long"] == LONG[:900].strip()
    assert mail["reply-to"].addresses[0].display_name == "Bö"


def test_dots_are_doubled_and_the_end_is_there_once() -> None:
    header, body = build(head(), MailText("Hi", ".\n..\nx"))
    sent = wire(b"", header, body)
    assert sent.endswith(b"\r\n..\r\n...\r\nx\r\n.\r\n")
    assert wire(b"", b"a: b\r\n", b"x\r\n") == b"a: b\r\n\r\nx\r\n.\r\n"
    assert sent.count(END) == 1


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("<p>a</p><p>b</p>", "a\n\nb\n"),
        ("a<br>b<br/>c", "a\nb\nc\n"),
        ("<ul><li>one</li><li>two</li></ul>", "* one\n\n* two\n"),
        ("<table><tr><td>a</td><td>b</td></tr></table>", "a b\n"),
        ("<script>x < y</script>z", "z\n"),
        ("<STYLE>x</STYLE>z<!-- <p>no</p> -->y", "zy\n"),
        ("a <!-- never ends", "a\n"),
        ("1 < 2 &amp; 3 &gt; 2&nbsp;!", "1 < 2 & 3 > 2 !\n"),
        ('<a href="https://example.com">https://example.com</a>', "https://example.com\n"),
        ('<a href="javascript:x">y</a>', "y\n"),
        ("<a href='mailto:a@example.com'>me</a>", "me (mailto:a@example.com)\n"),
        ("{{ name }}<p>{{ x }}", "{{ name }}\n\n{{ x }}\n"),
        ("", "\n"),
    ],
)
def test_what_html_says(html: str, text: str) -> None:
    assert text_of(html) == text
