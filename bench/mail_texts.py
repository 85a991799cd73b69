"""The mails of the benchmark: about 5 KB, as text and HTML, the same for ours and for others."""

from email.message import EmailMessage
from email.policy import SMTP

SENDER = "Shop <shop@example.com>"
SUBJECT = "Your order {n} is on its way"
TEXT = "Hello number {n},\n\n" + "Your order is on its way, and will be there in two days.\n" * 30
HTML = (
    "<html><body><h1>Hello number {n}</h1>"
    + "<p>Your order is <b>on its way</b>, and will be there in two days.</p>\n" * 42
    + "</body></html>"
)
DOMAIN, SELECTOR = "example.com", "bench"


def recipient(number: int) -> str:
    return f"n{number}@example.com"


def parts(number: int) -> dict[str, str]:
    """What a program gives to have a mail built."""
    name = str(number)
    return {
        "subject": SUBJECT.replace("{n}", name),
        "text": TEXT.replace("{n}", name),
        "html": HTML.replace("{n}", name),
    }


def prepared() -> bytes:
    """A whole mail, made beforehand."""
    mail = EmailMessage(policy=SMTP)
    said = parts(0)
    mail["From"], mail["To"], mail["Subject"] = SENDER, recipient(0), said["subject"]
    mail["Date"] = "Tue, 17 Nov 2026 11:00:00 +0000"
    mail["Message-ID"] = "<0@example.com>"
    mail.set_content(said["text"])
    mail.add_alternative(said["html"], subtype="html")
    return mail.as_bytes()
