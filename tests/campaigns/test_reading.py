"""Rows of a file: many at once are judged as each by itself, and memory has a bound."""

import csv
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from postroad.campaigns import reading
from postroad.campaigns.checking import RowChecker, problem_in
from postroad.campaigns.reading import BadFile, CsvReader, LineProblem, open_source
from postroad.model.errors import BadInput
from postroad.model.recipients import RecipientCheck
from postroad.transports.sms.channel import PHONES
from postroad.transports.webhook.channel import URLS, url

COLUMNS = ("name", "recipient", "amount")
CELLS = st.one_of(
    st.sampled_from(("", "Ann", "-5", "+3.50", "=1+1", "@x", "\tx", "x" * 999, "x" * 10_000)),
    st.sampled_from(("x" * 10_001, "a\0b", "x" * 1_500 + "\0", "-x", 'say "hi"', "two\nlines")),
    st.text(max_size=5),
)
PHONE_CELLS = st.one_of(
    st.sampled_from(("+6591234567", "+65 9123-4567", "6591234567", " +6591234567", "+(65) 1234")),
    st.sampled_from(("nobody", "", "+1234", "+6591234567\n+6591234568", "=6591234567")),
    st.text(max_size=5),
)
URL_CELLS = st.sampled_from(
    ("https://a.example/x", "http://b", "ftp://c", "https://d e", "https://", "https://a/\tb", "")
)


def each(table: RowChecker, rows: list[list[str]]) -> list[str] | None:
    try:
        return [table.row(cells) for cells in rows]
    except BadInput:
        return None


@pytest.mark.parametrize(("check", "to"), [(PHONES, PHONE_CELLS), (URLS, URL_CELLS)])
def test_many_rows_are_judged_as_each_by_itself(
    check: RecipientCheck, to: st.SearchStrategy[str]
) -> None:
    row = st.tuples(CELLS, to, CELLS).map(list) | st.lists(CELLS, max_size=4)

    @settings(max_examples=100, deadline=None)
    @given(st.lists(row, min_size=1, max_size=6))
    def judge(rows: list[list[str]]) -> None:
        table = RowChecker(COLUMNS, "recipient", check)
        found = table.rows(rows)
        assert (None if found is None else list(found)) == each(table, rows)

    judge()


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.lists(
        st.sampled_from(
            (
                ["+6591234567", "Ann"],
                ["+6591234568", "two\nlines"],
                ["+6591234569", "three\r\n\nlines"],
                ["nobody", "Bob"],
                ["+6591234560"],
                [],
            )
        ),
        max_size=12,
    ),
    st.integers(0, 12),
)
def test_batches_change_neither_lines_nor_problems(
    tmp_path: Path, rows: list[list[str]], after: int
) -> None:
    path = tmp_path / "people.csv"
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([["recipient", "name"], *rows])
    found = []
    for size in (1, 3, 500):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(reading, "BATCH", size)
            reader = CsvReader(open_source(path, "recipient"), "recipient", PHONES)
            batches = list(reader.batches(after))
        lines = [line for batch in batches for line in batch.lines]
        cells = [cells for batch in batches for cells in batch.rows]
        people = [to for batch in batches for to in batch.recipients]
        assert all(line > after for line in lines)
        assert people == [row[0] for row in cells]
        found.append((lines, cells, reader.problems, reader.invalid))
    assert found[0] == found[1] == found[2]


def test_problems_come_by_line_the_break_last(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text('recipient,name\nnobody,Ann\n+6591234567,Bob\n+6591234568,"Cid\n')
    reader = CsvReader(open_source(path, "recipient"), "recipient", PHONES)
    assert [batch.lines for batch in reader.batches()] == [[3]]
    assert [one.line for one in reader.problems] == [2, 4]
    assert reader.broken == LineProblem(4, "broken CSV: unexpected end of data")


def test_rows_of_long_cells_come_in_small_batches(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    rows = [f"+659{n:07},{'x' * 9_000}" for n in range(400)]
    path.write_text("\n".join(["recipient,name", *rows]))
    reader = CsvReader(open_source(path, "recipient"), "recipient", PHONES)
    sizes = [len(batch.lines) for batch in reader.batches()]
    assert sum(sizes) == 400
    assert max(sizes) * 9_000 < 2 * reading.BATCH_BYTES


def test_a_line_without_an_end_is_refused_before_it_is_read_as_one(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_bytes(b"recipient,name\n" + b"x" * (4 * reading.ROW_CHARACTERS_MAX + 3 * (1 << 20)))
    with pytest.raises(BadFile, match="has a line of over 1048576 characters"):
        open_source(path, "recipient")


@pytest.mark.parametrize(
    "row",
    ["+6591234567," * 100_000, '"+6591234567","a\n' + '","\n' * 400_000],
    ids=["cells without an end", "a quote that is never closed for long"],
)
def test_a_row_has_a_bound_over_all_its_lines(row: str, tmp_path: Path) -> None:
    """Else one row of a file of two gigabytes would be read into memory."""
    path = tmp_path / "people.csv"
    path.write_text(f"recipient,name\n+6591234567,Ann\n{row}\n")
    reader = CsvReader(open_source(path, "recipient"), "recipient", PHONES)
    assert [len(batch.lines) for batch in reader.batches()] == [1]
    assert reader.broken is not None
    assert "a row of over 1048576 characters" in reader.broken.reason
    assert reader.broken.line >= 2


def test_a_zero_byte_is_found_in_a_long_cell_too() -> None:
    assert problem_in("x" * 2_000 + "\0") == "it has a zero byte"


def test_an_address_with_a_control_character_is_none() -> None:
    with pytest.raises(BadInput, match="no address of a webhook"):
        url("https://a.example/\tb")


def test_the_digest_is_of_the_whole_file(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    start = "recipient,name\n" + "+6591234567,Ann\n" * 100_000
    assert len(start) > reading.CHUNK_BYTES
    digests = set()
    for end in ("+6591234568,Bob\n", "+6591234568,Cid\n"):
        path.write_text(start + end)
        digests.add(open_source(path, "recipient").digest)
    assert len(digests) == 2
