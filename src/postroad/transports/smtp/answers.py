"""What a server's reply means for the mail, its recipient and the server. A pure function, and one
table of enhanced codes (RFC 3463)."""

from typing import Final

from msgspec.structs import replace

from postroad.model.outcome import (
    DELIVERED,
    Kind,
    Outcome,
    ProviderAnswer,
    failed,
    quota,
    rejected,
    unknown,
    unreachable,
)
from postroad.transports.smtp.dialogue import Answer, SmtpStep

EARLY: Final = (SmtpStep.greeting, SmtpStep.hello, SmtpStep.tls, SmtpStep.reset)
"""No mail was spoken of yet: what is said is about the server, or about us."""
ABOUT: Final = {
    "1": "mailbox",
    "1.7": "sender",
    "1.8": "sender",
    "2": "mailbox",
    "2.2": "mailbox_full",
    "2.3": "size",
    "3": "server",
    "3.4": "size",
    "4": "routing",
    "5": "protocol",
    "5.3": "too_many",
    "6": "content",
    "7": "policy",
}
"""What an enhanced code is about, by subject and detail, else by subject alone."""
ABOUT_CODE: Final = {452: "too_many", 521: "mailbox", 552: "size", 556: "mailbox"}
ABOUT_STEP: Final = {
    SmtpStep.sender: "sender",
    SmtpStep.recipient: "mailbox",
    SmtpStep.content: "policy",
}
"""What a reply without an enhanced code is about."""
FINAL: Final = frozenset(("mailbox", "mailbox_full", "size", "content", "routing"))
"""A permanent refusal for one of these is final. One of the sender, by policy or of a command says
nothing about the recipient, and its cause may be repaired."""
AGAIN: Final = (Kind.failed, Kind.unreachable)
GREYLISTED: Final = ("greylist", "graylist", "grey-list", "grey list")


def judge(answer: Answer, *, relay: bool) -> Outcome:
    """Return the outcome of the reply that decided a mail, or of one that refused to begin.
    `relay`: the server is ours, and knows us by our login."""
    reply, about = answer.reply, _about(answer)
    code, queue_id = reply.enhanced or str(reply.code), ""
    outcome = _outcome(answer, about, relay=relay)
    if outcome is DELIVERED:
        code, about, queue_id = "", "", _queue_id(reply.text)
    temporary = reply.code < 500 and outcome.kind in AGAIN and answer.step in ABOUT_STEP
    said = ProviderAnswer(queue_id, code, sub_type=about)
    return replace(outcome, status=reply.code, provider=said, temporary=temporary)


def _outcome(answer: Answer, about: str, *, relay: bool) -> Outcome:
    step, reply = answer.step, answer.reply
    said = f"{step}: {reply.text}"
    if reply.good:
        taken = step is SmtpStep.content and reply.code < 300
        return DELIVERED if taken else unknown(said)
    if about == "login":
        # The message stays until somebody mends the credential.
        return replace(quota(said), disables=True) if relay else failed(said)
    if reply.code == 421 or step in (*EARLY, SmtpStep.login):
        return unreachable(said)
    if step is SmtpStep.sender and about == "server" and reply.code < 500:
        return unreachable(said)
    return rejected(said) if reply.code >= 500 and about in FINAL else failed(said)


def _about(answer: Answer) -> str:
    step, reply = answer.step, answer.reply
    if (step is SmtpStep.login and reply.code >= 500) or reply.code in (530, 535):
        return "server" if "STARTTLS" in reply.text.upper() else "login"
    if step in (*EARLY, SmtpStep.login) or reply.code == 421:
        return "server"
    if reply.code < 500 and any(word in reply.text.lower() for word in GREYLISTED):
        return "greylisted"
    _, _, detail = reply.enhanced.partition(".")
    subject = detail.partition(".")[0]
    about = ABOUT.get(detail) or ABOUT.get(subject)
    if about is None:
        about = ABOUT_CODE.get(reply.code) or ABOUT_STEP.get(step, "protocol")
    if step is SmtpStep.sender and about in ("mailbox", "routing"):
        return "sender"
    return about


def _queue_id(text: str) -> str:
    """What the server calls a mail that it has taken, if it says so as Postfix and others do."""
    _, mark, rest = text.partition("queued as ")
    return rest.split(" ", 1)[0].rstrip(".,;)") if mark else ""
