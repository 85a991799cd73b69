"""Mails to a real Postfix: each arrives once, by its own Maildir and its own log, and is signed."""

from collections import Counter
from pathlib import Path

from postroad import Postroad
from postroad.config import Settings
from postroad.model.credential import CredentialSpec
from postroad.model.mail_settings import MailSettings
from tests.mail.signing import RSA, pem, verified
from tests.servers.postfix import PrivatePostfix

BATCH = 500
LOOKED_AT = 20
"""dkimpy takes 8 ms for each."""


async def postfix_run(folder: Path, mails: int) -> list[str]:
    """Send so many mails; answers what is wrong."""
    with PrivatePostfix() as postfix:
        settings = Settings(mail=MailSettings(postfix.url, "Shop <shop@example.com>"))
        async with Postroad(f"sqlite:///{folder}/road.db", settings=settings) as road:
            options = {"dkim_domain": "example.com", "dkim_selector": "r"}
            spec = CredentialSpec(options=options)
            await road.credentials.put("smtp", spec, kind="smtp", secrets={"dkim_key": pem(RSA)})
            for first in range(0, mails, BATCH):
                numbers = range(first, min(first + BATCH, mails))
                await road.send_many([(f"mailto:n{n}@example.com", body(n)) for n in numbers])
            await road.run(until_idle=True)
        postfix.wait_delivered(mails)
        return breaches(postfix, mails)


def body(number: int) -> dict[str, str]:
    return {"subject": f"Mail {number}", "text": f"Number {number}: Grüße.\n.\n..\n"}


def breaches(postfix: PrivatePostfix, mails: int) -> list[str]:
    """What the receiver says against us."""
    wanted = Counter(f"n{number}@example.com" for number in range(mails))
    found: list[str] = []
    if Counter(postfix.delivered()) != wanted:
        found.append("by its log, not every recipient got one mail")
    if len(set(postfix.taken())) != mails or len(postfix.taken()) != mails:
        found.append("by its log, a Message-ID came twice or not at all")
    kept = postfix.mails()
    if len(kept) != mails:
        found.append(f"its Maildir has {len(kept)} mails")
    if not all(verified(_sent(mail)) == [True] for mail in kept[:LOOKED_AT]):
        found.append("a signature does not hold")
    return found


def _sent(mail: bytes) -> bytes:
    """A mail of the Maildir as it came: without what Postfix wrote above it."""
    return mail[mail.index(b"DKIM-Signature:") :].replace(b"\n", b"\r\n")
