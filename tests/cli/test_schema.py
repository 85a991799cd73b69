"""No 5xx, no answer outside the schema: small twin of `make proof ITEM=schema`."""

from pathlib import Path

import pytest

from tests.cli.prodding import prod


@pytest.mark.wide
def test_no_answer_is_outside_the_schema_and_none_is_a_fault(folder: Path) -> None:
    operations, broken = prod(folder, examples=2)
    assert broken == []
    assert operations >= 24
