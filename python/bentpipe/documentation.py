"""The documentation of a clone as HTML, rendered from its Markdown without Sphinx, for ``bentpipe
docs``.

``make docs`` builds a site with a search and a table of contents, which needs more packages. These
pages need only packages that every installation has.
"""

from __future__ import annotations

import html
import os
import re
from collections import Counter
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote, unquote, urlsplit

#: Folder into which `make docs` writes the site.
SITE: Final = Path(__file__).resolve().parent / "site"
#: The clone of which this package is a part, unless the package was installed.
CLONE: Final = Path(__file__).resolve().parents[2]

#: Folder of a clone into which pages are rendered.
RENDERED: Final = Path("build/pages")

#: Pages of a clone.
PAGES: Final = ("*.md", "docs/*.md", "docs/**/*.md", "studies/*/README.md")

#: Links at the top of each page.
_TOP: Final = {
    "start": "docs/index",
    "tutorial": "docs/tutorial",
    "how to": "docs/how-to",
    "concepts": "docs/concepts",
    "gallery": "docs/gallery",
    "reference": "docs/reference",
    "glossary": "docs/glossary",
}

_STYLE: Final = """
body { margin: 0 auto; max-width: 52rem; padding: 0 1rem 4rem; font: 1rem/1.5 system-ui, sans-serif; }
body { overflow-wrap: break-word; }
nav { padding: .6rem 0; border-bottom: 1px solid #8888; } nav a { margin-right: 1rem; }
pre { padding: .6rem .8rem; border: 1px solid #8886; border-radius: .3rem; overflow-x: auto; }
pre, code { font: .9rem/1.4 ui-monospace, monospace; } pre code { font-size: 1em; }
table { display: block; overflow-x: auto; border-collapse: collapse; font-size: .9rem; }
td, th { padding: .25rem .6rem; border: 1px solid #8886; text-align: left; vertical-align: top; min-width: 4rem; }
img { max-width: 100%; background: #fff; } td img { width: 15rem; max-width: none; }
@media (prefers-color-scheme: dark) { body { background: #181a1b; color: #ddd; } a { color: #8ab4f8; } }
"""


def head(page: str) -> tuple[str, str]:
    r"""Returns the title and the first paragraph of a page in Markdown, each on one line. Raises
    :class:`ValueError` for a page that does not begin with them.

    >>> head("# One\n\n<!-- two -->\nWhat is\nthree? This.\n\nFour.\n")
    ('One', 'What is three? This.')
    """
    match = re.match(r"# (.+)\n\n+(?:<!--.*?-->\n+)*((?:.+\n)+)", page)
    if match is None:
        raise ValueError(f"a page begins with its title and a paragraph, not with {page[:60]!r}")
    return match[1], " ".join(match[2].split())


def without_links(markdown: str) -> str:
    """Returns a text in Markdown with the texts of links in place of the links.

    >>> without_links("all [terms](glossary.md) of *A*")
    'all terms of *A*'
    """
    return re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", markdown)


def anchor(title: str) -> str:
    """Returns the anchor that code hosts derive from the text of a heading.

    >>> anchor("Losses, and `tcp_info`")
    'losses-and-tcp_info'
    """
    return re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-")


def render(clone: Path) -> Path:
    """Renders the pages of a clone that have changed since the last call. Returns the folder of
    the pages, in which they have the same places as in the clone."""
    out = clone / RENDERED
    pages = sorted({page for pattern in PAGES for page in clone.glob(pattern)})
    newest = Path(__file__).stat().st_mtime
    for page in pages:
        file = (out / page.relative_to(clone)).with_suffix(".html")
        if file.is_file() and file.stat().st_mtime > max(newest, page.stat().st_mtime):
            continue
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(_page(clone, page, file), encoding="utf-8")
    return out


def _page(clone: Path, page: Path, file: Path) -> str:
    """Returns a page as HTML that is read at ``file``."""
    parser = _parser()
    tokens = parser.parse(page.read_text(encoding="utf-8"))
    _add_anchors(tokens)
    for token in tokens:
        for child in token.children or ():
            for key in ("href", "src"):
                if isinstance(target := child.attrGet(key), str):
                    child.attrSet(key, _target(clone, page, file, target))
    body = parser.renderer.render(tokens, parser.options, {})
    links = "".join(
        f'<a href="{_target(clone, clone / "README.md", file, f"{place}.md")}">{name}</a>'
        for name, place in _TOP.items()
    )
    title = next((token.content for token in tokens if token.type == "inline"), page.stem)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(title)} - bentpipe</title><style>{_STYLE}</style></head>\n"
        f"<body><nav>{links}</nav>\n{body}</body></html>\n"
    )


@cache
def _parser() -> Any:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark", {"html": True}).enable("table")


def _add_anchors(tokens: list[Any]) -> None:
    """Gives each heading the anchor that code hosts derive from its text."""
    seen: Counter[str] = Counter()
    for opening, inline in pairwise(tokens):
        if opening.type == "heading_open":
            text = "".join(
                child.content for child in inline.children if child.type in ("text", "code_inline")
            )
            name = anchor(text)
            opening.attrSet("id", f"{name}-{seen[name]}" if seen[name] else name)
            seen[name] += 1


def _target(clone: Path, page: Path, file: Path, target: str) -> str:
    """Returns a link of a page as a link of ``file``: to another page, or to a file of the
    clone."""
    parts = urlsplit(target)
    if parts.scheme or parts.netloc or not parts.path:
        return target
    end = (page.parent / unquote(parts.path)).resolve()
    if end.suffix == ".md" and end.is_relative_to(clone):
        end = (clone / RENDERED / end.relative_to(clone)).with_suffix(".html")
    link = quote(os.path.relpath(end, file.parent))
    return f"{link}#{parts.fragment}" if parts.fragment else link
