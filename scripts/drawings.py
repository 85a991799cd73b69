"""`make drawings`: the papers' flow charts as pictures for the site, docs/img/drawing-….svg.

Code hosts draw a block of `mermaid` themselves; the site shows the picture, whose name has the hash
of the block. Needs `dot` of graphviz. It knows what the papers use of the language, and no more.
"""

import re
import shutil
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent / "docs"
BLOCK = re.compile(r"^```mermaid\n(.*?)^```$", re.DOTALL | re.MULTILINE)
NODE = re.compile(r"(\w[\w.]*)(?:(\(\[|\[\(|\[\[|\{\{|\[)(.*?)(?:\]\)|\)\]|\]\]|\}\}|\]))?")
EDGE = re.compile(r"\s*(?:(<)?--(?:>| (.*?) -->)|-\. (.*?) \.->)\s*")
SHAPES = {
    "([": "shape=box, style=rounded",
    "[(": "shape=cylinder",
    "[[": "shape=box, peripheries=2",
    "{{": "shape=hexagon",
    "[": "shape=box",
    "": "shape=box",
}
LOOK = (
    'rankdir=TB; nodesep=0.3; ranksep=0.35; bgcolor=white; node [fontname="Helvetica", fontsize=13, color="#5b6472"];'
    ' edge [fontname="Helvetica", fontsize=11, color="#5b6472", fontcolor="#3c4450"];'
)


def name(block: str) -> str:
    """The picture of a block: another one when the block changes."""
    return f"drawing-{sha256(block.encode()).hexdigest()[:10]}.svg"


def blocks() -> list[str]:
    """Every flow chart of the papers."""
    return [
        block for page in sorted(DOCS.rglob("*.md")) for block in BLOCK.findall(page.read_text())
    ]


def dot(block: str) -> str:
    """The same chart in graphviz's language."""
    head, *lines = block.splitlines()
    if head != "flowchart LR":
        raise ValueError(f"nobody knows how to draw {head}")
    nodes: dict[str, str] = {}
    edges: list[str] = []
    for line in lines:
        place, last, link = len(line) - len(line.lstrip()), "", ""
        while place < len(line):
            node = NODE.match(line, place)
            if node is None:
                raise ValueError(f"nobody knows how to draw {line}")
            key, frame, text = node[1], node[2] or "", node[3]
            if text or key not in nodes:
                label = (text or key).replace("<br/>", r"\n")
                nodes[key] = f'"{key}" [label="{label}", {SHAPES[frame]}];'
            if last:
                edges.append(f'"{last}" -> "{key}" [{link}];')
            edge = EDGE.match(line, node.end())
            place, last = (edge.end() if edge else len(line)), key
            link = _link(edge) if edge else ""
            if edge is None and node.end() != len(line):
                raise ValueError(f"nobody knows how to draw {line}")
    return "\n".join(["digraph {", LOOK, *nodes.values(), *edges, "}"])


def _link(edge: re.Match[str]) -> str:
    both = ", dir=both" if edge[1] else ""
    dotted = ", style=dotted" if edge[3] else ""
    return f'label="{edge[2] or edge[3] or ""}"{both}{dotted}'


def main() -> None:
    """Write the pictures of all blocks, and delete those of none."""
    program = shutil.which("dot") or sys.exit("`dot` is missing: apt install graphviz")
    made = {name(block): dot(block) for block in blocks()}
    for old in DOCS.glob("img/drawing-*.svg"):
        if old.name not in made:
            old.unlink()
    for file, chart in made.items():
        words = (program, "-Tsvg", "-o", DOCS / "img" / file)
        subprocess.run(words, input=chart, text=True, check=True)


if __name__ == "__main__":
    main()
