"""The papers' links and the site's navigation as checks: each takes a folder and returns its breaches."""

import re
from functools import cache
from pathlib import Path

FENCE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
CODE = re.compile(r"`[^`\n]*`")
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)
TREE = re.compile(r"^```\{toctree\}\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def papers(root: Path) -> list[Path]:
    """Everything that somebody reads."""
    found = [*root.glob("*.md"), *root.glob("examples/*.md"), *root.glob("docs/**/*.md")]
    return sorted([*found, *root.glob("clients/*/README.md"), *root.glob("deploy/**/*.md")])


def dead_links(root: Path) -> list[str]:
    """Links of papers to a file that is not there, or to a heading that its page has not."""
    return [
        f"{paper.relative_to(root)}: {link}"
        for paper in papers(root)
        for link in LINK.findall(_prose(paper))
        if "://" not in link and not link.startswith("mailto:") and not _leads(paper, link)
    ]


def _leads(paper: Path, link: str) -> bool:
    place, _, anchor = link.partition("#")
    page = (paper.parent / place) if place else paper
    if not page.exists():
        return False
    return not anchor or (page.suffix == ".md" and anchor in anchors(page))


def _prose(paper: Path) -> str:
    return CODE.sub("", FENCE.sub("", paper.read_text()))


@cache  # a page that many link to is read once
def anchors(page: Path) -> frozenset[str]:
    """What the headings of a page are linked to by: as code hosts name them, and as the site does."""
    names: list[str] = []
    for heading in HEADING.findall(FENCE.sub("", page.read_text())):
        text = re.sub(r"\[([^]]+)\]\([^)]*\)", r"\1", heading)
        name = re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")
        taken = sum(re.fullmatch(rf"{re.escape(name)}(-\d+)?", each) is not None for each in names)
        names.append(f"{name}-{taken}" if taken else name)
    return frozenset(names)


def orphans(root: Path) -> list[str]:
    """Pages of docs/ that no navigation leads to, and entries of it that lead nowhere."""
    docs = root / "docs"
    named, breaches = {docs / "index.md"}, []
    for page in docs.rglob("*.md"):
        entries = _entries(page.read_text())
        twice = sorted({each for each in entries if entries.count(each) > 1})
        breaches += [f"{page.relative_to(root)}: {each} is there twice" for each in twice]
        for entry in entries:
            found = set(page.parent.glob(f"{entry}.md"))
            breaches += [] if found else [f"{page.relative_to(root)}: {entry} is not there"]
            named |= found
    return breaches + [
        f"{page.relative_to(root)}: is in no navigation"
        for page in sorted(set(docs.rglob("*.md")) - named)
    ]


def _entries(text: str) -> list[str]:
    lines = [line.strip() for tree in TREE.findall(text) for line in tree.splitlines()]
    entries = [line for line in lines if line and not line.startswith(":")]
    return [re.sub(r"^.*<(.+)>$", r"\1", entry) for entry in entries]
