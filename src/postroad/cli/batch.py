"""`postroad batch`: many messages from a file, a line each."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Final

import msgspec
from click.exceptions import Exit

from postroad.api.progress import NDJSON
from postroad.cli.client import RoadClient
from postroad.cli.command import Invocation, command
from postroad.cli.options import Argument, Group
from postroad.cli.printing import as_json, err, out
from postroad.cli.progress import show_progress
from postroad.model.errors import BadInput, StoreUnavailable
from postroad.remote.api_request import ApiRequest

LINES: Final = 5_000
BYTES: Final = 8 << 20
SHOWN_MAX: Final = 20


def add(app: Group) -> None:
    """Add the command."""
    command(app, "batch", panel="Messages")(batch)


def batch(
    call: Invocation,
    file: Annotated[Path, Argument(help="A file with a JSON object a line; - is standard input.")],
) -> None:
    """Send many messages, a line of JSON each: {"queue": …, "body": …}. Good lines are stored, bad
    ones are printed. If each has a key, the whole file can be sent again."""
    totals = {"stored": 0, "duplicates": 0, "refused": 0}
    with _opened(file) as source, call.connect() as road, show_progress("sending") as told:
        for first, chunk in _chunks(source):
            *answers, last = _answers(road, first, chunk)
            for answer in answers:
                answer["line"] += first
                _tell(call, answer, totals["refused"])
            for name in totals:
                totals[name] += last[name]
            told(sum(totals.values()))
    if call.json:
        as_json({"done": True, **totals})
    else:
        words = [f"{count} {name}" for name, count in totals.items()]
        out().print(", ".join(words))
    if totals["refused"]:
        raise Exit(1)


def _opened(file: Path) -> BinaryIO:
    if str(file) == "-":
        return sys.stdin.buffer
    try:
        return file.open("rb")
    except OSError as error:
        raise BadInput(f"cannot read {file}: {error.strerror}") from None


def _chunks(source: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Pieces that a request can carry, each with how many lines came before it."""
    first = size = 0
    lines: list[bytes] = []
    for count, line in enumerate(source, start=1):
        lines.append(line)
        size += len(line)
        if count - first == LINES or size > BYTES:
            yield first, b"".join(lines)
            first, size, lines = count, 0, []
    if lines:
        yield first, b"".join(lines)


def _answers(road: RoadClient, first: int, chunk: bytes) -> list[dict[str, Any]]:
    """An answer for each line, and the sum of them."""
    which = f"lines {first + 1} to {first + len(chunk.splitlines())}"
    headers = {"content-type": NDJSON}
    try:
        answer = road.answer(
            ApiRequest("POST", "/v1/messages:batch", content=chunk, headers=headers)
        )
    except StoreUnavailable as error:
        raise StoreUnavailable(f"{which} may be stored, all before are: {error}") from None
    answers = [msgspec.json.decode(line) for line in answer.content.splitlines()]
    if not answers or "done" not in answers[-1]:
        raise StoreUnavailable(f"{which} may be stored, all before are: the answer was cut off")
    return answers


def _tell(call: Invocation, answer: dict[str, Any], refused: int) -> None:
    if call.json:
        as_json(answer)
    elif "problem" in answer and refused < SHOWN_MAX:
        detail = answer["problem"]["detail"]
        err().print(f"line {answer['line']}: {detail}")
