"""Why a try failed, in a customer's words. What is stored is for the operator: it names settings,
proxies and transforms, which are nobody else's matter."""

import re
from types import SimpleNamespace
from typing import Final

from postroad.transports.webhook.answers import WORDS

STATUS: Final = re.compile(r"[1-5][0-9]{2}(?: [A-Za-z' -]{1,40})?(?=[,:;]|$)")
"""A status and its phrase: the customer's own server said so."""
TEXTS: Final = {words: f"error_{fault}" for fault, words in WORDS.items()}
KINDS: Final = (
    ("tls: ", "error_tls"),
    ("certificate: ", "error_tls"),
    (" has no address", "error_dns"),
    (" is no address", "error_dns"),
    (" may not call", "error_forbidden"),
    (" cannot be a webhook", "error_forbidden"),
)
"""What stands in an error of ours, and the text of its kind."""


def customer_error(error: str, texts: SimpleNamespace) -> str:
    """The text for an error; a general one for what no customer can mend."""
    if not error:
        return ""
    if status := STATUS.match(error):
        return status[0].rstrip()
    of_kind = (key for part, key in KINDS if part in error)
    key = TEXTS.get(error) or next(of_kind, "error_ours")
    return str(getattr(texts, key))
