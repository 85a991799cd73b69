"""The pages of docs/reference/ say what the code does."""

import re
from pathlib import Path

import pytest

from postroad.api.listening import REFUSALS
from postroad.dashboard.logins.id_token import BadIdToken, UnknownKey
from postroad.dashboard.logins.provider import ProviderAway
from postroad.model.errors import PostroadError
from postroad.model.problem import kind
from postroad.stores.rabbitmq.envelope import BadEnvelope
from postroad.transports.webhook.access import ExpiredCertificate
from postroad.transports.webhook.resolving import Unanswered, Unresolved
from postroad.transports.webhook.tokens import NoToken
from postroad.transports.webhook.transforms import FailedTransform, MissingTransform
from scripts import reference

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", ["commands.md", "errors.md", "http.md", "metrics.md", "python.md"])
def test_a_page_is_what_the_code_says(name: str) -> None:
    written = (ROOT / "docs" / "reference" / name).read_text()
    assert written == reference.pages()[name], "run: python scripts/reference.py"


def test_every_command_option_and_error_has_words() -> None:
    for name, text in reference.pages().items():
        for line in text.splitlines():
            assert not re.search(r"\|\s+\|$", line) or line == "| | |", f"{name}: {line}"


def test_every_problem_that_a_server_may_answer_with_is_on_the_page() -> None:
    page = (ROOT / "docs" / "reference" / "errors.md").read_text()
    # Of the inside: nobody is answered with them. Some are reasons of tries.
    unseen = {Unresolved, Unanswered, BadEnvelope, NoToken, ExpiredCertificate}
    unseen |= {MissingTransform, FailedTransform}
    unseen |= {BadIdToken, UnknownKey, ProviderAway}  # told on the login page
    kinds = {kind(each) for each in _kinds(PostroadError) if each not in unseen}
    kinds |= {f"urn:postroad:problem:{word}" for word, _ in REFUSALS.values()}
    assert [each for each in sorted(kinds) if f"`{each}`" not in page] == []
    assert len(kinds) > 50


def _kinds(base: type[PostroadError]) -> set[type[PostroadError]]:
    """The errors that our own modules define."""
    own = {each for each in base.__subclasses__() if each.__module__.startswith("postroad.")}
    return own.union(*map(_kinds, own))
