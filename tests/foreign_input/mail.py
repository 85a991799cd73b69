"""What mail servers answer, what domains say about their mail, and what mails are made of."""

from postroad.model.blobs import NAME
from postroad.model.errors import BadInput
from postroad.model.relay import read_relay
from postroad.transports.smtp.answers import _queue_id, judge
from postroad.transports.smtp.body import check_body, read_body
from postroad.transports.smtp.capabilities import read_capabilities
from postroad.transports.smtp.dialogue import Answer, SmtpStep
from postroad.transports.smtp.dkim import read_keys, signature
from postroad.transports.smtp.headers import check_headers, fold, mailbox
from postroad.transports.smtp.html_text import text_of
from postroad.transports.smtp.mime import MailHead, MailPart, MailText, base64_lines, build, wire
from postroad.transports.smtp.mta_sts import read_id, read_policy
from postroad.transports.smtp.prepared import read_prepared
from postroad.transports.smtp.replies import BadReply, ReplyReader, SmtpReply
from postroad.transports.smtp.routes import site_of
from postroad.verbs.campaign_drafts import attachments_of
from tests.foreign_input.shape import BARE, Door, in_pieces

SMTP = "transports/smtp"
REPLY_FRAMES = (BARE, (b"250-", b"\r\n"), (b"250 ", b""), (b"5", b""), (b"250 5.1.", b" x\r\n"))
REPLY_SHAPES = {
    "many lines": lambda n: b"250-x\r\n" * (n // 7),
    "many replies": lambda n: b"250 x\r\n" * (n // 7),
    "long lines": lambda n: (b"250-" + b"x" * 900 + b"\r\n") * (n // 906),
}


def replies(data: bytes) -> None:
    for reply in ReplyReader().read(data, 3):
        _ = judge(Answer(SmtpStep.content, reply), relay=True)
        _queue_id(reply.text)


def ehlo(data: bytes) -> None:
    read_capabilities(SmtpReply(250, tuple(data[:32_768].split(b"\r\n")[:256])))


def mail(data: bytes) -> None:
    check_body(read_body(data))


def headers(data: bytes) -> None:
    text = data.decode("latin-1")
    fold(f"x: {text}")
    check_headers({text[:100]: "x", "y": text})


def built(data: bytes) -> None:
    text = data.decode("latin-1")
    head = MailHead("a@example.com", "b@example.com", "r", 0, {"x": text[:900]})
    part = MailPart(text[:150], "a/b", base64_lines(data))
    header, body = build(head, MailText(text[:400], text, text, (part,)))
    assert wire(b"", header, body)


def canonical(data: bytes) -> None:
    from tests.mail.signing import ED25519, pem

    assert signature(read_keys("example.com", "e", pem(ED25519)), b"From: a\r\n", data, 0)


def by_bytes(data: bytes) -> None:
    reader = ReplyReader()
    in_pieces(lambda: lambda piece: len(reader.read(piece, 3)) >= 3, data)


def attachments(data: bytes) -> None:
    text = data.decode("latin-1")
    assert not NAME.fullmatch(f"blob_{text}")
    _ = attachments_of([{"id": text, "name": text[:100]}])


def names(*found: str) -> tuple[str, ...]:
    """Of one file, as `file:NAME`."""
    file, *inside = found
    return tuple(f"{SMTP}/{file}.py:{name}" for name in inside)


DOORS = (
    Door(
        "attachments that a campaign refers to",
        attachments,
        ("model/blobs.py:NAME", "verbs/campaign_drafts.py:attachments_of"),
        raises=(BadInput,),
    ),
    Door(
        "replies of a mail server",
        replies,
        (*names("replies", "LINE", "ENHANCED"), *names("answers", "_queue_id")),
        frames=REPLY_FRAMES,
        shapes=REPLY_SHAPES,
        raises=(BadReply,),
    ),
    Door(
        "replies of a mail server, byte by byte",
        by_bytes,
        (),
        size=16_384,
        frames=REPLY_FRAMES[:2],
        fills=("blanks", "letters", "line ends", "digits"),
        shapes=REPLY_SHAPES,
        raises=(BadReply,),
    ),
    Door(
        "what a mail server offers",
        ehlo,
        names("capabilities", "WORD", "read_capabilities"),
        size=32_768,
        frames=(BARE, (b"mx\r\nSIZE ", b""), (b"mx\r\nAUTH ", b"")),
        shapes={"many words": lambda n: b"mx\r\nAUTH" + b" a" * (n // 2)},
    ),
    Door(
        "a mail to be sent",
        mail,
        names("body", "TYPE", "CID", "DECODER", "_check_contents"),
        frames=(
            BARE,
            (b'{"subject":"', b'","text":"x"}'),
            (b'{"subject":"x","text":"', b'"}'),
            (b'{"subject":"x","text":"x","from":"', b'"}'),
            (b'{"subject":"x","text":"x","attachments":[{"content":"', b'"}]}'),
            (b'{"subject":"x","text":"x","attachments":[{"content":"x","type":"', b'"}]}'),
        ),
        shapes={
            "deep": lambda n: b'{"subject":' + b"[" * n,
            "many attachments": lambda n: (
                b'{"subject":"x","text":"x","attachments":['
                + b",".join([b'{"content":"x"}'] * (n // 16))
                + b"]}"
            ),
            "many headers": lambda n: (
                b'{"subject":"x","text":"x","headers":{'
                + b",".join(b'"h%d":"x"' % i for i in range(n // 9))
                + b"}}"
            ),
        },
        raises=(BadInput,),
    ),
    Door(
        "headers of a mail",
        headers,
        names("headers", "NAME", "CONTROL", "ENCODED_WORD", "PLAIN_NAME", "fold"),
        size=992,
        frames=(BARE, (b"=?", b"?b?"), (b"a ", b" a")),
        raises=(BadInput,),
    ),
    Door(
        "an address with a name",
        lambda data: mailbox.__wrapped__(data.decode("latin-1")).header,
        (),
        size=960,
        frames=(BARE, (b"", b"<a@example.com>"), (b'"', b'" <a@example.com>'), (b"a@", b"")),
        raises=(BadInput,),
    ),
    Door(
        "a mail that is built",
        built,
        names("mime", "PLAIN_FILE_NAME", "encoded_text"),
        size=32_768,
        frames=(BARE, (b"\xe4", b"")),
        shapes={"dots": lambda n: b"\n." * (n // 2)},
    ),
    Door(
        "the text of HTML",
        lambda data: text_of(data.decode("latin-1")),
        names("html_text", "TAG", "HIDDEN", "ENDS", "HREF", "text_of", "_tidied"),
        frames=(BARE, (b"<", b">"), (b"<a href=", b">x</a>"), (b"&", b";"), (b"<!--", b"")),
        shapes={
            "open tags": lambda n: b"<" * n,
            "comments without an end": lambda n: b"<!--" * (n // 4),
            "styles without an end": lambda n: b"<style>" * (n // 7),
            "styles": lambda n: b"<style></style>" * (n // 15),
            "open links": lambda n: b"<a href=http://x>" * (n // 17) + b"</a>" * (n // 34),
            "links": lambda n: b"<a href=http://x>y</a>" * (n // 22),
            "attributes": lambda n: b"<a" + b" href" * (n // 5) + b">",
            "half attributes": lambda n: b"<a" + b" href = " * (n // 8) + b">",
            "entities": lambda n: b"&amp;" * (n // 5),
            "half entities": lambda n: b"&amp" * (n // 4),
        },
    ),
    Door(
        "a mail that somebody made",
        lambda data: read_prepared(data).header("r", 0, {}),
        names("prepared", "FIELD", "read_prepared", "_fields"),
        frames=(
            BARE,
            (b"From: a@example.com\r\nX: ", b"\r\n\r\nx"),
            (b"From: ", b"\r\n\r\nx"),
            (b"From: a@example.com\r\n\r\n", b""),
        ),
        shapes={
            "many headers": lambda n: b"a: b\n" * (n // 5) + b"\n",
            "many folds": lambda n: b"From: a@example.com\n" + b" x\n" * (n // 3) + b"\n",
        },
        raises=(BadInput,),
    ),
    Door(
        "what is signed of a mail",
        canonical,
        names("dkim", "NAME", "_unfolded", "read_keys"),
        shapes={"runs of blanks": lambda n: (b" " * 70 + b"\r\n") * (n // 72)},
    ),
    Door(
        "keys that sign",
        lambda data: read_keys("example.com", data[:200].decode("latin-1"), data.decode("latin-1")),
        (),
        frames=(BARE, (b"-----BEGIN PRIVATE KEY-----\n", b"\n-----END PRIVATE KEY-----")),
        shapes={"many": lambda n: b"-----END PRIVATE KEY-----" * (n // 25)},
        raises=(BadInput,),
    ),
    Door(
        "a domain's MTA-STS policy",
        read_policy,
        names("mta_sts", "read_policy"),
        frames=(BARE, (b"version: STSv1\nmode: enforce\nmax_age: 1\nmx: ", b"\n")),
        shapes={"many servers": lambda n: b"mx: a.example\n" * (n // 14)},
    ),
    Door(
        "a domain's MTA-STS record",
        lambda data: read_id([data.decode("latin-1")]),
        names("mta_sts", "read_id"),
        size=4_096,
        frames=(BARE, (b"v=STSv1;", b""), (b"v=STSv1; id=", b";")),
    ),
    Door(
        "the servers of a domain",
        lambda data: site_of(data.decode("latin-1").split(",")),
        names("routes", "COUNTRY", "registered"),
        shapes={"many": lambda n: b",".join(b"mx.a%d.example" % i for i in range(n // 14))},
    ),
    Door(
        "a relay",
        lambda data: read_relay(data.decode("latin-1")),
        tuple(
            f"model/relay.py:{name}" for name in ("NAME", "read_relay", "_is_address", "_options")
        ),
        size=2_000,
        frames=(
            BARE,
            (b"smtp://", b""),
            (b"smtp://a:", b"@b"),
            (b"smtp://a:b@", b":25"),
            (b"smtp://[", b"]"),
            (b"mx?", b""),
            (b"mx?hello=", b""),
            (b"mx?sessions=", b""),
        ),
        raises=(BadInput,),
    ),
)
