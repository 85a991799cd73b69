"""No link of README or docs/ is dead, and every page has its place in the site's navigation."""

from pathlib import Path

from tests.site import links

ROOT = Path(__file__).parents[2]


def test_every_link_of_a_paper_leads_to_a_file_and_a_heading() -> None:
    assert links.dead_links(ROOT) == []


def test_every_page_is_in_the_navigation() -> None:
    assert links.orphans(ROOT) == []


def test_a_dead_link_a_dead_anchor_and_an_orphan_are_named(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    tree = "```{toctree}\n:hidden:\n\none\nA title <two>\none\n```\n"
    (tmp_path / "docs" / "index.md").write_text(f"# Home\n[one](one.md#a-b-c)\n{tree}")
    (tmp_path / "docs" / "one.md").write_text("# One\n## A `b`: c\n[gone](three.md)\n")
    (tmp_path / "docs" / "alone.md").write_text("[one](one.md#d) `[not](a.md)`\n[me](#e)\n")
    assert links.dead_links(tmp_path) == [
        "docs/alone.md: one.md#d",
        "docs/alone.md: #e",
        "docs/one.md: three.md",
    ]
    assert links.orphans(tmp_path) == [
        "docs/index.md: one is there twice",
        "docs/index.md: two is not there",
        "docs/alone.md: is in no navigation",
    ]
