"""How `make docs` makes the site of these pages."""

import re
import sys
import tomllib
from pathlib import Path

from pygments.lexers.special import TextLexer
from sphinx.application import Sphinx
from sphinx.search.en import SearchEnglish

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from scripts import drawings  # noqa: E402

project = "Postroad"
author = "The Postroad maintainers"
project_copyright = author
release = version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]

extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
nitpicky = True

# Anchors as code hosts make them, so that a link to a heading is the same here and there.
myst_heading_anchors = 4

html_theme = "furo"
html_title = f"Postroad {release}"
html_copy_source = False
html_show_sphinx = False

# Words that a search leaves out, but for those of our trade: "at most once" would find nothing.
SearchEnglish.stopwords -= {"again", "all", "most", "once", "same", "why"}

# Papers that lie outside docs/, and the page that includes each.
OUTSIDE = {
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "clients/js/README.md": "javascript.md",
    "examples/README.md": "examples.md",
}
LINK = re.compile(rf"\]\((?:\.\./)*(docs/|{'|'.join(map(re.escape, OUTSIDE))})")
FOLDERS = "|".join(each.name for each in ROOT.iterdir() if each.is_dir() and each.name != "docs")
ELSEWHERE = re.compile(rf"\[([^\]]+)\]\((?:\.\./)*(?:{FOLDERS})/[^)]*\.md[^)]*\)")


def picture(block: re.Match[str]) -> str:
    """The picture of a flow chart, which code hosts draw themselves."""
    return f"![a flow chart](/img/{drawings.name(block[1])})"


def on_the_site(text: str) -> str:
    """Links between papers, right for a reader of the repository, as links of the site. One to a
    paper that the site has not is its text alone."""
    text = drawings.BLOCK.sub(picture, text)
    here = LINK.sub(lambda link: "](/" + OUTSIDE.get(link[1], ""), text)
    return ELSEWHERE.sub(r"\1", here)


def read(_: Sphinx, _where: object, *rest: object) -> None:
    """A page, or a paper that it includes, has been read; its text is in a list."""
    source = rest[-1]
    if isinstance(source, list):
        source[0] = on_the_site(source[0])


def setup(app: Sphinx) -> None:
    """Called by Sphinx. Conversations are shown as the text that they are."""
    app.connect("source-read", read)
    app.connect("include-read", read)
    for name in ("csv", "frames"):
        app.add_lexer(name, TextLexer)
