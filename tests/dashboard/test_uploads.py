"""Files of recipients that a page sends: imported while they come, or refused with a sentence."""

import asyncio
import tracemalloc
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from postroad.api.in_process import ask
from postroad.api.problems import BadRequest
from postroad.api.uploads import UploadRoom
from postroad.dashboard import forms
from postroad.dashboard.multipart import FIELDS_MAX, HEAD_BYTES_MAX, MultipartReader
from postroad.remote.api_request import ApiRequest
from tests.campaigns.provider import TOKEN, Provider
from tests.campaigns.stories import LOCAL
from tests.dashboard.stand import BOUNDARY, HOST, KIND, PageStand, multipart
from tests.dashboard.test_actions import act

PATH = "/campaigns/import"
NO_REST = b"recipient,name\n+16000000001,Ann\n+16000000002,Bob\n"


@pytest.fixture(scope="module")
def provider(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Provider]:
    with Provider(tmp_path_factory.mktemp("provider")) as found:
        yield found


@pytest.fixture
def stand(tmp_path: Path, provider: Provider) -> PageStand:
    provider.begin(tmp_path)
    return PageStand(tmp_path, LOCAL)


async def drafted(stand: PageStand, provider: Provider) -> None:
    """Somebody is logged in and has a draft `c` without recipients."""
    await stand.login()
    await stand.road.credentials.put("main", provider.spec(), TOKEN)
    await stand.road.campaigns.create("c", credential="main", template="Hi {{ name }}")


async def said(stand: PageStand, data: bytes, file: str = "people.csv", **more: str) -> str:
    """What is said about a file; it must have been refused, and nothing of it stored."""
    answer = (await stand.upload(PATH, data, file, name="c", **more)).json()
    assert answer["bad"], answer
    status = await stand.road.campaigns.show("c")
    assert status.counts.total == 0
    assert not (await stand.road.campaigns.details("c")).import_line
    return str(answer["notice"])


async def test_a_file_is_imported_under_its_own_name(stand: PageStand, provider: Provider) -> None:
    await drafted(stand, provider)
    done = (await stand.upload(PATH, NO_REST, name="c")).json()
    assert done == {"notice": "2 recipients imported.", "bad": False, "go": ""}
    assert b"Hi Ann" in (await stand.get("/campaign?name=c")).content
    more = b"recipient,name\n+16000000001,Ann\n+16000000003,Eve\nno number,x\n"
    done = (await stand.upload(PATH, more, name="c", skip="yes")).json()
    assert done["notice"].startswith("1 recipient imported, 1 duplicate left out, 1 invalid line")


async def test_without_scripts_the_page_says_what_came_of_it(
    stand: PageStand, provider: Provider
) -> None:
    await drafted(stand, provider)
    back = "/campaign?name=c"
    content = multipart(NO_REST, "people.csv", {"name": "c", "back": back})
    answer = await stand.upload_raw(PATH, content, KIND, script=False)
    assert (answer.status, answer.headers["location"]) == (303, back)
    assert b"2 recipients imported" in (await stand.get(back)).content
    content = multipart(b"x\n1\n", "people.csv", {"name": "c", "back": back})
    await stand.upload_raw(PATH, content, KIND, script=False)
    assert b"no column" in (await stand.get(back)).content


@pytest.mark.parametrize(
    ("data", "told"),
    [
        (b"", "is empty"),
        (b"name\nAnn\n", "line 1: no column 'recipient' among: name"),
        (b"recipient,recipient\n", "is there twice"),
        (b"recipient,name\n+16000000001\n", "line 2: 1 cells, but 2 columns"),
        (b"recipient,name\nhello,Ann\n", "line 2: column 'recipient'"),
        (b"recipient,name\n+16000000001,=1+1\n", "column 'name': '=1+1' is a formula"),
        (b'recipient,name\n+16000000001,"open\n', "broken CSV"),
        (b"PK\x03\x04" + bytes(100), "is a workbook or an archive: save it as CSV"),
        (b"\x1f\x8b\x08" + bytes(100), "compressed: unpack it"),
        (b"%PDF-1.7\n", "is a PDF document"),
        (b"\x89PNG\r\n\x1a\n" + bytes(100), "NUL bytes: it is no text"),
    ],
)
async def test_what_is_no_file_of_recipients_is_refused_with_a_sentence(
    stand: PageStand, provider: Provider, data: bytes, told: str
) -> None:
    await drafted(stand, provider)
    assert told in await said(stand, data)


async def test_invalid_lines_are_listed(stand: PageStand, provider: Provider) -> None:
    await drafted(stand, provider)
    told = await said(stand, b"recipient,name\n" + b"nobody,x\n" * 30)
    assert "people.csv, line 2: column 'recipient'" in told
    assert "(and 29 more); nothing was imported" in told
    assert "\nline 11: column" in told
    assert "line 12:" not in told


async def test_a_files_name_is_a_strangers_text(stand: PageStand, provider: Provider) -> None:
    await drafted(stand, provider)
    assert "passwd, line 1" in await said(stand, b"x\n", "../../etc/passwd")
    assert "C:" not in await said(stand, b"x\n", "C:\\Users\\people.csv")
    assert await said(stand, b"x\n", "\0" * 300 + "<b>.csv")
    assert await said(stand, b"x\n", "x" * 3_000)
    assert await said(stand, NO_REST, "") == "no file was chosen: choose one, then send the form"


async def test_what_is_no_form_with_a_file_is_refused_with_a_sentence(
    stand: PageStand, provider: Provider
) -> None:
    await drafted(stand, provider)
    whole = multipart(NO_REST, "people.csv", {"name": "c"})
    field = f'--{BOUNDARY}\r\ncontent-disposition: form-data; name="{{}}"\r\n\r\n'.encode()
    broken = {
        "the upload broke off": whole[:-30],
        "is broken": b"x" + whole,
        "has no file": field + f"1\r\n--{BOUNDARY}--".encode(),
        "has over 4096 bytes": whole.replace(b"Content-Type", b"x" * HEAD_BYTES_MAX),
        "at most 20 other": (field + b"1\r\n") * (FIELDS_MAX + 1) + whole,
        "at most 8192 bytes": field + b"1" * 9_000 + b"\r\n" + whole,
        "load the page again": whole + b"x" * 2_000,
        "one file, behind": whole.replace(b"--\r\n", b"\r\n") + whole,
    }
    for told, content in broken.items():
        answer = await stand.upload_raw(PATH, content, KIND)
        assert told in answer.json()["notice"], (told, answer.content)
    kinds = ("text/csv", "multipart/form-data", "multipart/form-data; boundary=" + "x" * 71)
    for kind in kinds:
        answer = await stand.upload_raw(PATH, whole, kind)
        assert answer.status == 415
    packed = await stand.upload_raw(PATH, whole, KIND, {"content-encoding": "gzip"})
    assert "uncompressed" in packed.json()["notice"]
    large = await stand.upload_raw(PATH, whole, KIND, {"content-length": str(3 << 30)})
    assert (large.status, large.json()["notice"]) == (
        413,
        "the file has more than 2 GiB: send it in parts",
    )
    assert (await stand.road.campaigns.show("c")).counts.total == 0


async def test_a_file_that_turns_out_too_large_is_refused(
    stand: PageStand, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    await drafted(stand, provider)
    monkeypatch.setattr("postroad.api.uploads.UPLOAD_BYTES_MAX", 1_000)
    assert "more than 1000 bytes" in await said(stand, NO_REST + b"+16000000002,x\n" * 100)
    monkeypatch.setattr(forms, "UPLOAD_BYTES_MAX", 1_000)
    monkeypatch.setattr(forms, "ROOM_BYTES", 0)
    assert "more than 1000 bytes" in await said(stand, NO_REST + b"+16000000002,x\n" * 100)


async def test_files_that_are_there_at_once_share_a_room(
    stand: PageStand, provider: Provider
) -> None:
    """One is on its way while others come: of the same tenant, of another one, and after it."""
    await drafted(stand, provider)
    room = stand.context.uploads = UploadRoom(4 * len(NO_REST))
    came, more = asyncio.Event(), asyncio.Event()

    async def slow() -> AsyncIterator[bytes]:
        yield NO_REST
        came.set()
        await more.wait()

    headers = {"host": HOST, "authorization": f"Bearer {stand.token}", "content-type": "text/csv"}
    first = ApiRequest("POST", "/v1/campaigns/c/import", {}, b"", headers)
    under_way = asyncio.create_task(ask(stand.app, first, sent=slow()))
    await came.wait()
    assert "other files of yours are being imported" in await said(stand, NO_REST * 2)
    room.take("neighbour", 2 * len(NO_REST))
    path, other = "/v1/suppressions:import", {**headers, "postroad-tenant": "third"}
    told = await ask(stand.app, ApiRequest("POST", path, {}, NO_REST * 2, other))
    assert (told.status, "files of others" in told.json()["detail"]) == (429, True)
    more.set()
    assert (await under_way).json()["rows"] == 2
    room.free("neighbour", 2 * len(NO_REST))
    assert not room.taken
    assert (await stand.upload(PATH, NO_REST, name="c", skip="yes")).json()["bad"] is False


async def test_who_may_not_manage_uploads_nothing(stand: PageStand, provider: Provider) -> None:
    await drafted(stand, provider)
    await stand.login(role="read")
    assert b"Upload" not in (await stand.get("/campaign?name=c")).content
    assert "scope" in await said(stand, NO_REST)
    own = multipart(NO_REST, "a.csv", {"name": "c"})
    other = await stand.upload_raw(PATH, own, KIND, {"origin": "https://evil.example"})
    assert other.status == 403


OFFERED = (b"Start\xe2\x80\xa6", b">Estimate<", b"Plan the start", b"Send test", b">Preview<")


async def test_an_unfinished_import_is_told_and_discarded(
    stand: PageStand, provider: Provider, monkeypatch: pytest.MonkeyPatch
) -> None:
    await drafted(stand, provider)

    async def killed(*_: object, **__: object) -> None:
        raise OSError("the process ended here")

    with monkeypatch.context() as patch:
        patch.setattr(type(stand.road.campaigns._store), "end_import", killed)
        assert (await stand.upload(PATH, NO_REST, name="c")).json()["bad"]
    page = (await stand.get("/campaign?name=c")).content
    assert b"it stands at line 3" in page
    other = (await stand.upload(PATH, NO_REST + b"+16000000003,Eve\n", name="c")).json()
    assert other["bad"]
    done = (await stand.upload(PATH, NO_REST, name="c")).json()  # the same file: it goes on
    assert not done["bad"], done
    page = (await stand.get("/campaign?name=c")).content
    assert [each for each in OFFERED if each not in page] == []
    with monkeypatch.context() as patch:
        patch.setattr(type(stand.road.campaigns._store), "end_import", killed)
        await stand.upload(PATH, b"recipient,name\n+16000000009,Joe\n", name="c")
    page = (await stand.get("/campaign?name=c")).content
    assert [each for each in OFFERED if each in page] == [], "what needs the whole file"
    assert page.count(b"An import is under way, or unfinished") == 2
    assert "discarded" in await act(stand, "/campaigns/discard", name="c")
    assert (await stand.road.campaigns.show("c")).counts.total == 2


SIZES = st.integers(min_value=1, max_value=200)
BYTES = st.lists(st.sampled_from((b"\r\n--x", b"\r\n", b"--", b"x", b"a", b"\0")), max_size=12)


async def read(content: bytes, size: int) -> tuple[list[tuple[str, str]], bytes]:
    async def pieces() -> AsyncIterator[bytes]:
        for at in range(0, len(content), size):
            yield content[at : at + size]

    pairs, file = await MultipartReader(KIND, pieces()).read()
    return pairs, b"".join([piece async for piece in file.pieces])


@given(BYTES, SIZES)
def test_pieces_of_any_size_give_the_same_file(parts: list[bytes], size: int) -> None:
    data = b"".join(parts)
    content = multipart(data, "f", {"a": "1", "b": ""})
    assert asyncio.run(read(content, size)) == ([("a", "1"), ("b", "")], data)


@given(st.integers(min_value=0, max_value=400), SIZES)
def test_a_form_that_is_cut_anywhere_is_refused(end: int, size: int) -> None:
    content = multipart(NO_REST, "f", {"a": "1"})
    if end < len(content) - len("--\r\n"):
        with pytest.raises(BadRequest):
            asyncio.run(read(content[:end], size))


def test_no_more_of_a_file_is_in_memory_than_a_piece() -> None:
    async def pieces() -> AsyncIterator[bytes]:
        yield multipart(b"", "f", {})[: -len(f"\r\n--{BOUNDARY}--\r\n")]
        for _ in range(500):
            yield bytes(1 << 16)
        yield f"\r\n--{BOUNDARY}--\r\n".encode()

    async def measured() -> int:
        _, file = await MultipartReader(KIND, pieces()).read()
        return sum([len(piece) async for piece in file.pieces])

    tracemalloc.start()
    try:
        assert asyncio.run(measured()) == 500 << 16
        assert tracemalloc.get_traced_memory()[1] < 2 << 20
    finally:
        tracemalloc.stop()
