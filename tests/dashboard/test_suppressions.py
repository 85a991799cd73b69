"""Suppressions on their page, through the forms."""

import re

from tests.dashboard.stand import PageStand
from tests.dashboard.test_actions import act

PATH = "/suppressions"


async def test_somebody_is_added_found_and_taken_off(stand: PageStand) -> None:
    await stand.login()
    assert b"Nobody is suppressed" in (await stand.get(PATH)).content
    said = await act(stand, f"{PATH}/add", recipient="Ann@Example.com", note="<b>asked</b>")
    assert said == "Ann@example.com is not sent to any more."
    await stand.road.suppressions.add("+16000000001", "unsubscribed", campaign="spring")
    page = (await stand.get(PATH)).content
    assert b"Ann@example.com" in page
    assert b"&lt;b&gt;asked" in page
    assert b'href="/campaign?name=spring"' in page
    only = (await stand.get(f"{PATH}?reason=unsubscribed")).content
    assert b"+16000000001" in only
    assert b"example.com" not in only
    assert b"Ann@example.com" in (await stand.get(f"{PATH}?recipient=ann@example.com")).content
    assert b"Nobody like this" in (await stand.get(f"{PATH}?recipient=eve@example.com")).content
    given = {"recipient": "ann@example.com", "reason": "by_hand", "tenant": "default"}
    assert "off the list" in await act(stand, f"{PATH}/remove", **given)
    assert b"example.com" not in (await stand.get(PATH)).content


async def test_a_list_is_imported_and_exported_as_a_file(stand: PageStand) -> None:
    await stand.login()
    data = b"recipient,reason\nann@example.com,complaint\nnobody,complaint\n"
    refused = (await stand.upload(f"{PATH}/import", data)).json()
    assert refused["bad"]
    assert "line 3" in refused["notice"]
    assert b"Nobody is suppressed" in (await stand.get(PATH)).content
    done = (await stand.upload(f"{PATH}/import", data, skip="yes")).json()
    assert done["notice"] == "1 entry read, 1 of them new, 1 invalid line left out."
    file = await stand.get(f"{PATH}/export")
    assert file.headers["content-disposition"] == 'attachment; filename="suppressions.csv"'
    assert file.content.decode().count("ann@example.com,complaint") == 1


async def test_the_list_of_all_tenants_is_for_those_of_every_tenant(stand: PageStand) -> None:
    await stand.login()
    await act(stand, f"{PATH}/add", recipient="ann@example.com", everywhere="yes")
    assert b"ann@example.com" not in (await stand.get(PATH)).content
    page = (await stand.get(f"{PATH}?everywhere=true")).content
    assert b"every tenant" in page
    assert b"/suppressions/export?everywhere=true" in page
    assert b"ann@example.com" in (await stand.get(f"{PATH}/export?everywhere=true")).content
    await stand.login(role="tenant", tenant="shop")
    assert b"all tenants" not in (await stand.get(PATH)).content
    answer = await stand.post(
        f"{PATH}/add", {"postroad-fetch": "1"}, recipient="eve@example.com", everywhere="yes"
    )
    assert "every tenant" in answer.json()["notice"]
    assert (await stand.get(f"{PATH}/export?everywhere=true")).status == 403
    given = {"recipient": "ann@example.com", "tenant": "*"}
    answer = await stand.post(f"{PATH}/remove", {"postroad-fetch": "1"}, **given)
    assert answer.json()["bad"]
    assert (await stand.road.suppressions.list(tenant="*")).suppressions


async def test_a_file_goes_to_the_list_that_is_shown(stand: PageStand) -> None:
    await stand.login()
    for query, tenant in (("", "default"), ("?everywhere=true", "*")):
        page = (await stand.get(f"{PATH}{query}")).content.decode()
        form = page.partition(f'action="{PATH}/import"')[2].partition("</form>")[0]
        given = dict(re.findall(r'type="hidden" name="(\w+)" value="([^"]*)"', form))
        done = await stand.upload(f"{PATH}/import", b"recipient\nann@example.com\n", **given)
        assert "1 of them new" in done.json()["notice"]
        (found,) = (await stand.road.suppressions.list(tenant=tenant)).suppressions
        assert found.recipient == "ann@example.com"


async def test_who_only_reads_changes_nothing(stand: PageStand) -> None:
    await stand.login(role="read")
    assert b"Send no more to" not in (await stand.get(PATH)).content
    answer = await stand.post(f"{PATH}/add", {"postroad-fetch": "1"}, recipient="a@example.com")
    assert answer.json()["bad"]
    assert (await stand.upload(f"{PATH}/import", b"recipient\na@example.com\n")).json()["bad"]
    assert (await stand.get(f"{PATH}/export")).status == 403
