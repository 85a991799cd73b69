"""schemathesis over the OpenAPI of a real server: for the quick test and for the proof."""

import json
from pathlib import Path
from typing import Any

import hypothesis
import schemathesis
from schemathesis import GenerationMode, checks

from tests.cli.running import UP, data, running


@schemathesis.serializer("application/x-ndjson")
def lines(_context: object, value: object) -> bytes:
    """A batch of one good line and one of nonsense."""
    return json.dumps(value).encode() + b"\n?\n"


@schemathesis.serializer("message/rfc822")
def mail(_context: object, value: object) -> bytes:
    """A mail of nonsense."""
    return value if isinstance(value, bytes) else str(value).encode(errors="surrogatepass")


checks.load_all_checks()
CHECKS = checks.CHECKS.get_by_names(
    [
        "not_a_server_error",
        "status_code_conformance",
        "content_type_conformance",
        "response_schema_conformance",
    ]
)
TAKE_ANY = {"POST /v1/callbacks/{key}", "POST /v1/callbacks/{owner}/{name}"}
"""Operations for which no request is badly formed: any form, with any key."""
STRICT = [*CHECKS, checks.CHECKS.get_one("negative_data_rejection")]


def prod(folder: Path, examples: int) -> tuple[int, list[str]]:
    """So many good and so many bad requests to every operation of a server in the present folder;
    answers how many operations there are, and what was wrong with their answers."""
    broken: list[str] = []
    with running(folder, *UP) as (_, door):
        token = data("token", "make", "schemathesis")["secret"]
        document = schemathesis.openapi.from_url(f"{door.url}/v1/openapi.json")
        found: list[Any] = list(document.get_all_operations())
        operations = [each.ok() for each in found]
        for operation in operations:
            has_input = operation.body or operation.query or operation.path_parameters
            has_bad = has_input and operation.label not in TAKE_ANY
            modes = [GenerationMode.POSITIVE, *([GenerationMode.NEGATIVE] if has_bad else [])]
            for mode in modes:
                try:
                    _ask_often(operation, mode, token, examples)
                except Exception as error:  # noqa: BLE001 - every kind of failure is a finding
                    broken.append(f"{operation.label}: {error}")
    return len(operations), broken


def _ask_often(operation: Any, mode: GenerationMode, token: str, examples: int) -> None:
    """Good or bad requests to one operation."""

    @hypothesis.settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=True,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    @hypothesis.given(case=operation.as_strategy(generation_mode=mode))
    def ask(case: Any) -> None:
        headers = {"authorization": f"Bearer {token}"}
        # A batch is answered line by line: a bad line does not refuse the request.
        chosen = CHECKS if operation.path.endswith(":batch") else STRICT
        case.call_and_validate(headers=headers, checks=chosen, timeout=60)

    ask()
