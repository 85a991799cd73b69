"""Forms that were sent: each acts once, and a question that one asks has an address of its own."""

import re
from collections import OrderedDict
from hashlib import sha256
from typing import Any, Final

from msgspec import Struct

from postroad.dashboard.paging import Form, WebPage, refusal
from postroad.ports.entropy import secret_bytes

MARK: Final = "form_mark"
FORM: Final = re.compile(r'<form method="post"[^>]*>')
"""A form of a template: what people write is escaped."""
SENT_MAX: Final = 20_000
QUESTIONS_MAX: Final = 100
REPEATED: Final = "This form was sent already: nothing was done again."


def mark_forms(html: str) -> str:
    """Give the forms of a page a value that says when they are sent twice."""
    mark = f'<input type="hidden" name="{MARK}" value="{secret_bytes(16).hex()}">'
    return FORM.sub(lambda found: found[0] + mark, html)


class PageQuestion(Struct, frozen=True):
    """What is asked before something is done, and of whom."""

    session: str
    page: WebPage
    template: str
    shown: dict[str, Any]
    back: str


class Submissions:
    """Remembers the last forms and questions of this process."""

    def __init__(self) -> None:
        self._sent: OrderedDict[bytes, None] = OrderedDict()
        self._questions: OrderedDict[str, PageQuestion] = OrderedDict()

    def claim(self, session: str, path: str, form: Form) -> bytes:
        """Let a form act; a refusal if the same one came before, as by a reload. The key gives the
        claim back."""
        key = sha256(repr((session, path, form.pairs)).encode()).digest()
        if form.one(MARK):
            if key in self._sent:
                raise refusal(REPEATED)
            self._sent[key] = None
            while len(self._sent) > SENT_MAX:
                self._sent.popitem(last=False)
        return key

    def release(self, key: bytes) -> None:
        """Let a form act that did nothing yet: it was refused, or asked first."""
        self._sent.pop(key, None)

    def ask(self, question: PageQuestion) -> str:
        """The address of a question: a browser can reload it, and come back to it."""
        number = secret_bytes(16).hex()
        self._questions[number] = question
        while len(self._questions) > QUESTIONS_MAX:
            self._questions.popitem(last=False)
        return f"/question?id={number}"

    def question(self, number: str, session: str) -> PageQuestion | None:
        """A question that was asked of this session, if it is remembered."""
        found = self._questions.get(number)
        return found if found and found.session == session else None
