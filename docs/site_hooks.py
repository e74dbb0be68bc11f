"""What the site does to a page: pictures of graphs are drawn here, and links into the code become its paths."""

import base64
import posixpath
import re
from types import SimpleNamespace
from typing import Any

from wardround.commands.graph_svg import as_svg

_MERMAID = re.compile(r"```mermaid\n(.*?)\n```", re.DOTALL)
_NODE = re.compile(r"^\s*(\w+)[(\[]", re.MULTILINE)
_EDGE = re.compile(r"^\s*(\w+) (-->|-\.) (?:&nbsp;(.*?)&nbsp; \.-> |\.-> )?(\w+);?$", re.MULTILINE)
_LINK = re.compile(r"\[([^\]]+)\]\((\.\./[^)\s]+)\)")


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """The page as the site shows it; on a code host it stands as it is written."""
    markdown = _MERMAID.sub(lambda found: _picture(found[1], page.title or ""), markdown)
    return _LINK.sub(lambda found: _path_or_link(found, page.file.src_uri), markdown)


def _picture(mermaid: str, title: str) -> str:
    """Mermaid needs a script from another host: the same boxes and arrows as an image within the page."""
    edges = [
        SimpleNamespace(source=source, target=target, data=words, conditional=line == "-.")
        for source, line, words, target in _EDGE.findall(mermaid)
    ]
    named = [name for name in _NODE.findall(mermaid) if name not in ("graph", "subgraph")]
    nodes = dict.fromkeys([*named, *(end for edge in edges for end in (edge.source, edge.target))])
    drawn: Any = SimpleNamespace(nodes=nodes, edges=edges)
    data = base64.b64encode(as_svg(drawn, title).encode()).decode()
    return f'<img alt="{title}: {", ".join(nodes)}" src="data:image/svg+xml;base64,{data}">'


def _path_or_link(link: re.Match[str], page: str) -> str:
    """A link within the pages as it is; one into the code as the path there."""
    path = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page), link[2].partition("#")[0]))
    if path.startswith("docs/"):
        return link[0]
    return link[1] if path in link[1] else f"{link[1]} (`{path}`)"
