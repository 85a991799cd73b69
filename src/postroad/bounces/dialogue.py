"""What a client of the listener says, and what it is answered. It does no I/O."""

import re
from collections.abc import Callable
from enum import StrEnum
from typing import Final

from msgspec import Struct

from postroad.bounces.content import CONTENT_MAX

LINE_MAX: Final = 1_000
ERRORS_MAX: Final = 10
COMMANDS_MAX: Final = 1_000
PATH: Final = re.compile(rb" *<([^<> ]{0,320})>( [!-~]{1,500})* *", re.IGNORECASE)
BYE: Final = "421 4.7.0 too much of this: good bye"


class MailProtocol(StrEnum):
    """How the listener is spoken to."""

    smtp = "smtp"
    lmtp = "lmtp"


class Verdict(StrEnum):
    """What becomes of a recipient."""

    ours = "250 2.1.5 ok"
    feedback = "250 2.1.5 complaints are taken"
    unknown = "550 5.1.1 no mail is taken here but bounces and complaints"
    busy = "450 4.7.1 too many mails to this address: try again later"


class BounceHost(Struct, frozen=True):
    """Whom a client speaks with."""

    name: str
    protocol: MailProtocol
    verdict: Callable[[str, str], Verdict]
    """Whether mail to an address is taken from a network."""


class BounceDialogue:
    """One client's session, up to the content of a mail. One recipient a mail: a report has one,
    and LMTP and SMTP answer alike."""

    def __init__(self, host: BounceHost) -> None:
        self._host = host
        self.network = ""
        """Where the client is."""
        self._greeted = False
        self._from = False
        self._errors = 0
        self._commands = 0
        self.to = ""
        """The recipient of the mail that is being sent."""
        self.proven = False
        """The client named a valid return address that we signed."""
        self.over = False
        """The connection is to be closed."""

    @property
    def greeting(self) -> str:
        """What is said first."""
        return f"220 {self._host.name} {'LMTP' if self._is_lmtp else 'ESMTP'} Postroad"

    def say(self, line: bytes) -> str:
        """Answer one command. After 354 the content follows."""
        self._commands += 1
        verb, _, rest = line.partition(b" ")
        answer = self._answer(verb.upper().decode("latin-1"), rest)
        self._errors += answer.startswith("5")
        if self._errors > ERRORS_MAX or self._commands > COMMANDS_MAX:
            self.over = True
            return BYE
        return answer

    def ended(self) -> None:
        """The mail was taken or refused: another may follow."""
        self._from, self.to = False, ""

    @property
    def _is_lmtp(self) -> bool:
        return self._host.protocol is MailProtocol.lmtp

    def _answer(self, verb: str, rest: bytes) -> str:
        match verb:
            case "LHLO" | "EHLO" | "HELO":
                return self._hello(verb, rest)
            case "MAIL":
                return self._mail(rest)
            case "RCPT":
                return self._rcpt(rest)
            case "DATA":
                return self._data(rest)
            case "RSET":
                self.ended()
                return "250 2.0.0 ok"
            case "NOOP":
                return "250 2.0.0 ok"
            case "QUIT":
                self.over = True
                return "221 2.0.0 bye"
            case "VRFY":
                return "252 2.0.0 send a mail and see"
            case _:
                return "500 5.5.2 no such command"

    def _hello(self, verb: str, rest: bytes) -> str:
        if (verb == "LHLO") is not self._is_lmtp:
            return f"500 5.5.1 say {'LHLO' if self._is_lmtp else 'EHLO'}"
        if not rest.strip():
            return "501 5.5.4 say your name"
        self._greeted = True
        self.ended()
        if verb == "HELO":
            return f"250 {self._host.name}"
        offers = ("PIPELINING", f"SIZE {CONTENT_MAX}", "8BITMIME", "SMTPUTF8")
        lines = (self._host.name, *offers, "ENHANCEDSTATUSCODES")
        return "\r\n".join([*(f"250-{each}" for each in lines[:-1]), f"250 {lines[-1]}"])

    def _mail(self, rest: bytes) -> str:
        if not self._greeted or self._from:
            return "503 5.5.1 not now"
        found = _path(rest, b"FROM:")
        if found is None:
            return "501 5.5.4 say MAIL FROM:<address>"
        if _size(rest) > CONTENT_MAX:
            return "552 5.3.4 too large"
        self._from = True
        return "250 2.1.0 ok"

    def _rcpt(self, rest: bytes) -> str:
        if not self._from:
            return "503 5.5.1 say MAIL first"
        if self.to:
            return "452 4.5.3 one recipient a mail: send the others after this one"
        found = _path(rest, b"TO:")
        if found is None:
            return "501 5.5.4 say RCPT TO:<address>"
        verdict = self._host.verdict(found, self.network)
        if verdict in (Verdict.ours, Verdict.feedback):
            self.to = found
        self.proven |= verdict is Verdict.ours
        return verdict

    def _data(self, rest: bytes) -> str:
        if rest.strip():
            return "501 5.5.4 DATA stands alone"
        if not self.to:
            return "503 5.5.1 say RCPT first"
        return "354 end with a dot"


def _path(rest: bytes, word: bytes) -> str | None:
    """The address between angle brackets; None if it is none. Options behind it are passed over."""
    if rest[: len(word)].upper() != word:
        return None
    found = PATH.fullmatch(rest[len(word) :])
    return found[1].decode("utf-8", "replace") if found else None


def _size(rest: bytes) -> int:
    """What a client says that its mail has."""
    _, mark, said = rest.upper().partition(b" SIZE=")
    digits = said.split(b" ", 1)[0]
    return int(digits) if mark and digits.isdigit() and len(digits) < 20 else 0
