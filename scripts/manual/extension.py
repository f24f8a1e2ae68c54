"""Extension of Sphinx: captions of pictures, and contents that follow from the folders. The pages
themselves are plain Markdown, which a code host shows as well.

- The folder of a page ``NAME.md`` is ``NAME``: the pages in it are its subpages. The same holds for
  a ``README.md`` and the other pages of its folder, and for ``docs/studies.md`` and the studies'
  READMEs. So a new page needs no entry in any list.
- The contents of the first page are :data:`CONTENTS`, and all pages of docs/ that it does not name.
- A paragraph of emphasised text below a picture is the picture's caption.
- The navigation unfolds only the sections around the page that is shown. With all 260 pages on
  each page the site was half as large again, and took half as long again to build.
- Tables of keys, columns and statements have the class ``keys``, by which the style sheet stacks
  their cells on narrow screens.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

#: The contents of the site: headings with the pages below them. None stands for the pages that are
#: not named.
CONTENTS: Final[dict[str, list[str] | None]] = {
    "Start": ["tutorial", "how-to", "concepts", "gallery"],
    "Look up": ["reference", "features", "glossary"],
    "Topics": None,
    "Accuracy and speed": ["studies", "measured-linux", "measure", "performance"],
    "The project": [
        "../CHANGELOG",
        "changes-0.1.0",
        "../ARCHITECTURE",
        "../CONTRIBUTING",
        "testing",
        "decisions/README",
        "notes/README",
    ],
}


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect everything to Sphinx."""
    app.connect("env-get-outdated", with_other_subpages)
    app.connect("source-read", with_contents)
    app.connect("doctree-read", with_classes)
    app.connect("doctree-read", with_captions)
    # Before the theme draws the navigation, at 500.
    app.connect("html-page-context", with_own_section, priority=400)
    app.connect("build-finished", with_entrance)
    return {"version": "1", "parallel_read_safe": False, "parallel_write_safe": False}


def with_own_section(
    _: Sphinx, __: str, ___: str, context: dict[str, Any], ____: nodes.document | None
) -> None:
    """Unfold only the sections around the page in the navigation."""
    if contents := context.get("toctree"):
        context["toctree"] = lambda **options: contents(**{**options, "collapse": True})


def subpages(app: Sphinx, name: str) -> list[str]:
    """Returns the subpages of a page, as a list of contents names them."""
    page = Path(app.env.doc2path(name))
    if page.name == "README.md":
        return sorted(one.stem for one in page.parent.glob("*.md") if one != page)
    found = sorted(f"{page.stem}/{one.stem}" for one in page.with_suffix("").glob("*.md"))
    if page.parent == Path(app.confdir):
        folders = (Path(app.srcdir) / page.stem).glob("*/README.md")
        found += sorted(f"/{page.stem}/{one.parent.name}/README" for one in folders)
    return found


def with_other_subpages(app: Sphinx, env: BuildEnvironment, *_: set[str]) -> list[str]:
    """Returns the pages to read again in any case: those whose contents follow from folders."""
    return [name for name in env.found_docs if name == app.config.root_doc or subpages(app, name)]


def with_contents(app: Sphinx, name: str, source: list[str]) -> None:
    """Add the contents of the site to its first page, and to every other page its subpages."""
    if name != app.config.root_doc:
        if below := subpages(app, name):
            source[0] += _contents("", below)
        return
    page = Path(app.env.doc2path(name))
    named = {page.stem, *(one for listed in CONTENTS.values() for one in listed or ())}
    rest = sorted(one.stem for one in page.parent.glob("*.md") if one.stem not in named)
    for heading, listed in CONTENTS.items():
        source[0] += _contents(f":caption: {heading}\n", rest if listed is None else listed)


def _contents(options: str, listed: list[str]) -> str:
    return "\n```{toctree}\n:hidden:\n" + options + "\n" + "\n".join(listed) + "\n```\n"


def with_captions(_: Sphinx, page: nodes.document) -> None:
    """Join each picture with its caption, and leave out the programs that are comments."""
    for comment in list(page.findall(nodes.raw)):
        if comment.astext().startswith("<!--"):
            comment.parent.remove(comment)
    for image in list(page.findall(nodes.image)):
        paragraph = image.parent
        if not isinstance(paragraph, nodes.paragraph) or len(paragraph) != 1:
            continue
        below = paragraph.next_node(descend=False, siblings=True)
        if isinstance(below, nodes.paragraph) and len(below) == 1 and isinstance(below[0], nodes.emphasis):
            below.parent.remove(below)
            figure = nodes.figure("", image, nodes.caption("", "", *below[0].children))
            page.set_id(figure)
            paragraph.replace_self(figure)


def with_classes(_: Sphinx, page: nodes.document) -> None:
    """Mark the tables whose rows describe a key, a column or a statement each."""
    for table in page.findall(nodes.table):
        heading = next(iter(table.findall(nodes.thead)), None)
        words = [entry.astext() for entry in heading.findall(nodes.entry)] if heading else []
        if len(words) > 2 and words[0] in ("key", "column", "statement"):
            table["classes"].append("keys")


def with_entrance(app: Sphinx, error: Exception | None) -> None:
    """Write the page at which the site is entered, which is not that of Sphinx' first document."""
    if error is None and app.builder.format == "html":
        target = f"{app.config.root_doc}.html"
        (Path(app.outdir) / "index.html").write_text(
            f'<!doctype html><meta charset="utf-8"><title>bentpipe</title>'
            f'<meta http-equiv="refresh" content="0; url={target}"><a href="{target}">bentpipe</a>\n'
        )
