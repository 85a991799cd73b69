"""Redaction: fields of bodies that are sent and never shown, neither in a body nor in what somebody
said about it."""

from collections.abc import Iterator, Sequence
from functools import reduce
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from postroad.model.errors import BadInput
from postroad.model.json_pointer import pointer_parts
from postroad.model.outcome import Kind, Outcome

HIDDEN: Final = "…"
EACH: Final = "*"
"""In a pointer: every item of a list, or every field of an object."""
RULES_MAX: Final = 100
POINTER_MAX: Final = 500
TELLING_CHARACTERS: Final = 4
"""Shorter values are in many texts by chance."""
HEAD_CHARACTERS: Final = 32
"""Where so much of a value is shown, it is hidden without comparing the rest at each place."""
VALUES_MAX: Final = 100
"""Maximum hidden values of a body. If it has more, nothing that was said about it is shown."""
ANY_BYTES: Final = "surrogateescape"
DECODE: Final = msgspec.json.Decoder().decode
ENCODE: Final = msgspec.json.Encoder().encode


class RedactionRule(Struct, frozen=True):
    """A field that is not shown, in bodies of a queue or of events of a type."""

    name: str
    """The queue or event type, or what they begin with and `*`."""
    pointer: tuple[str, ...]

    def applies(self, name: str) -> bool:
        """Whether it is about a queue or an event type."""
        if self.name.endswith(EACH):
            return name.startswith(self.name[:-1])
        return name == self.name


def read_rule(text: str) -> RedactionRule:
    """Read `/card/number` or `order.* /card/number`: a JSON pointer, and whose bodies are meant."""
    name, _, pointer = text.strip().rpartition(" ")
    parts = pointer_parts(pointer)
    if parts is None or len(text) > POINTER_MAX:
        raise BadInput(
            f"{text[:60]!r} names no field: give a JSON pointer, as /card/number, and before it a "
            "queue or an event type if only their bodies are meant, as `order.* /card/number`"
        )
    return RedactionRule(name.strip() or EACH, tuple(parts))


class Redaction:
    """The fields of a road that are not shown."""

    def __init__(self, rules: Sequence[str] = ()) -> None:
        if len(rules) > RULES_MAX:
            raise BadInput(f"{len(rules)} fields to redact: at most {RULES_MAX}")
        self._rules = tuple(map(read_rule, rules))

    def __bool__(self) -> bool:
        return bool(self._rules)

    def body(self, name: str, body: bytes) -> bytes:
        """A body of a queue, or of an event of a type, as it may be shown."""
        content = self._content(name, body)
        if content is None:
            return body
        hidden = self.content(name, content)
        return body if hidden == content else ENCODE(hidden)

    def content(self, name: str, content: object) -> object:
        """A body that was read from JSON, as it may be shown."""
        return reduce(_hidden, self._pointers(name), content)

    def hides(self, name: str) -> bool:
        """Whether something of these bodies is not shown."""
        return bool(self._pointers(name))

    def text(self, name: str, body: bytes, text: str) -> str:
        """What was said about a body, without the values of its hidden fields."""
        values = self._values(name, body) if text else set()
        if len(values) > VALUES_MAX:
            return HIDDEN
        for value in sorted(values, key=len, reverse=True):
            text = _without(text, value)
        return text

    def outcome(self, name: str, body: bytes, outcome: Outcome) -> Outcome:
        """Return the outcome of a try, without the hidden fields of its body: receivers repeat what
        they were sent."""
        if not self.hides(name):
            return outcome
        seen = outcome.details
        if seen is not None:
            seen = replace(seen, answer=self.answer(name, body, seen.answer))
        error = self.text(name, body, outcome.error)
        # The result of a failure is its traceback, which has the text as it was.
        result = None if outcome.kind is Kind.failed else outcome.result
        return replace(outcome, error=error, details=seen, result=result)

    def answer(self, name: str, body: bytes, answer: bytes) -> bytes:
        """The same for bytes."""
        told = self.text(name, body, answer.decode(errors=ANY_BYTES))
        return told.encode(errors=ANY_BYTES)

    def _pointers(self, name: str) -> list[tuple[str, ...]]:
        return [rule.pointer for rule in self._rules if rule.applies(name)]

    def _content(self, name: str, body: bytes) -> object:
        if not self._pointers(name):
            return None
        try:
            return DECODE(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return None

    def _values(self, name: str, body: bytes) -> set[str]:
        """The hidden values as texts, also as JSON writes them."""
        content = self._content(name, body)
        pointers = self._pointers(name) if content is not None else []
        found = (value for pointer in pointers for value in _at(content, pointer))
        texts = (text for value in found for text in _told(value))
        return {text for text in texts if len(text) >= TELLING_CHARACTERS}


def _without(text: str, value: str) -> str:
    """A text without a value, also without its beginning where the text was cut."""
    text = text.replace(value, HIDDEN)
    rest = text.removesuffix(HIDDEN)
    at = rest.find(value[:HEAD_CHARACTERS], max(0, len(rest) - len(value) + 1))
    if at >= 0:
        return rest[:at] + HIDDEN
    most = min(len(rest), len(value), HEAD_CHARACTERS)
    for count in range(most, TELLING_CHARACTERS - 1, -1):
        if value.startswith(rest[-count:]):
            return rest[:-count] + HIDDEN
    return text


def _hidden(content: object, pointer: tuple[str, ...]) -> object:
    """A content without the values that a pointer means."""
    if not pointer:
        return HIDDEN
    part, rest = pointer[0], pointer[1:]
    if isinstance(content, dict):
        meant = {key: _hidden(value, rest) for key, value in content.items() if part in (EACH, key)}
        return {**content, **meant}
    if isinstance(content, list):
        return [
            _hidden(item, rest) if part in (EACH, str(place)) else item
            for place, item in enumerate(content)
        ]
    return content


def _at(content: object, pointer: tuple[str, ...]) -> Iterator[object]:
    """The values that a pointer means."""
    if not pointer:
        yield content
        return
    part, rest = pointer[0], pointer[1:]
    inner = content if isinstance(content, dict) else {}
    if isinstance(content, list):
        inner = {str(place): item for place, item in enumerate(content)}
    for key, value in inner.items():
        if part in (EACH, key):
            yield from _at(value, rest)


def _told(value: object) -> Iterator[str]:
    """A value, or the values in it, as texts that tell it."""
    left = [value]
    while left:
        item = left.pop()
        if isinstance(item, dict):
            left += item.values()
        elif isinstance(item, list):
            left += item
        elif item is not None and not isinstance(item, bool):
            text = str(item)
            yield from (text, ENCODE(text).decode()[1:-1])  # the second as JSON writes it
