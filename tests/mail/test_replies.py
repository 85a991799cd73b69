import pytest

from postroad.transports.smtp.capabilities import Capabilities, read_capabilities
from postroad.transports.smtp.replies import BadReply, ReplyReader, SmtpReply


def test_a_reply_of_many_lines_is_one() -> None:
    reader = ReplyReader()
    assert reader.read(b"250-one\r\n250-two\r\n250 th", 1) == []
    assert reader.read(b"ree\r\n", 1) == [SmtpReply(250, (b"one", b"two", b"three"))]
    assert not reader.pending


def test_replies_to_a_group_come_in_one_piece_or_in_many() -> None:
    said = b"250 2.1.0 Ok\r\n250 2.1.5 Ok\r\n354 go on\r\n"
    whole = ReplyReader().read(said, 3)
    reader = ReplyReader()
    pieces = [reply for at in range(len(said)) for reply in reader.read(said[at : at + 1], 3)]
    assert [reply.code for reply in whole] == [250, 250, 354]
    assert pieces == whole


def test_what_follows_the_last_expected_reply_is_left_unread() -> None:
    reader = ReplyReader()
    assert [one.code for one in reader.read(b"250 queued\r\n421 bye\r\n", 1)] == [250]
    assert reader.pending
    assert reader.rest == "421 bye"


@pytest.mark.parametrize(
    "said",
    [
        b"hello\r\n",
        b"99 no\r\n",
        b"250-one\r\n251 two\r\n",
        b"250" + b"x" * 5_000,
        b"250-x\r\n" * 300,
        b"250-" + b"x" * 3_000 + b"\r\n" + (b"250-" + b"x" * 3_000 + b"\r\n") * 12,
    ],
)
def test_what_is_no_reply_or_too_much_is_refused(said: bytes) -> None:
    with pytest.raises(BadReply):
        ReplyReader().read(said, 1)


@pytest.mark.parametrize(
    ("reply", "enhanced", "text"),
    [
        (SmtpReply(550, (b"5.1.1 no such user",)), "5.1.1", "550 5.1.1 no such user"),
        (SmtpReply(550, (b"5.1.1 no", b"5.1.1 such user")), "5.1.1", "550 5.1.1 no such user"),
        (SmtpReply(550, (b"4.1.1 no such user",)), "", "550 4.1.1 no such user"),
        (SmtpReply(250, ()), "", "250"),
        (SmtpReply(554, (b"\x1b[2J\x00 go away",)), "", "554 \ufffd[2J\ufffd go away"),
    ],
)
def test_the_enhanced_code_is_told_once(reply: SmtpReply, enhanced: str, text: str) -> None:
    assert (reply.enhanced, reply.text) == (enhanced, text)


def test_what_is_offered_is_read_from_ehlo() -> None:
    said = (
        b"250-mx\r\n250-PIPELINING\r\n250-SIZE 1000\r\n250-auth PLAIN LOGIN\r\n250-AUTH=PLAIN\r\n"
    )
    said += b"250-SMTPUTF8\r\n250-8BITMIME\r\n250-STARTTLS\r\n250-DSN\r\n250 X\x00\x01\r\n"
    (reply,) = ReplyReader().read(said, 1)
    auth = frozenset(("PLAIN", "LOGIN"))
    assert read_capabilities(reply) == Capabilities(
        pipelining=True, starttls=True, utf8=True, dsn=True, eight_bit=True, size=1_000, auth=auth
    )


def test_a_size_of_many_digits_is_unknown() -> None:
    assert read_capabilities(SmtpReply(250, (b"mx", b"SIZE " + b"9" * 500))).size == 0
