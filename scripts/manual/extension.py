"""Sphinx extension: captions of pictures, and contents from folders. The pages themselves are plain
Markdown, which a code host shows as well.

- Subpages: a page ``NAME.md`` has the pages of the folder ``NAME`` as subpages. Likewise, a
  ``README.md`` has the other pages of its folder, and ``docs/studies.md`` has the studies' READMEs.
  So a new page needs no entry in any list.
- The contents of the first page are :data:`CONTENTS`, and all pages of docs/ that it does not name.
- A comment ``<!-- try: TITLE`` ... ``-->`` becomes an interactive figure (:mod:`manual.tries`). It
  stays invisible if the site has no script (``scripts/web site``) or the reader no JavaScript.
- A paragraph of emphasised text below a picture is the picture's caption.
- The navigation unfolds only the sections around the current page. Unfolding all 260 pages made the
  site half as large again, and its build half as long again.
- Tables of keys, columns and statements have the class ``keys``, so that the style sheet can stack
  their cells on narrow screens.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any, Final

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

from . import blocks, tries

LOG: Final = logging.getLogger(__name__)

#: The contents of the site: headings with the pages below them. None stands for the pages that are
#: not named.
CONTENTS: Final[dict[str, list[str] | None]] = {
    "Start": ["tutorial", "how-to", "concepts", "gallery", "notebooks"],
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
    """Registers the event handlers in Sphinx."""
    # All pages are written again if the script appears or disappears.
    app.add_config_value("has_site_script", False, "html")
    app.connect("env-get-outdated", with_other_subpages)
    app.connect("source-read", with_contents)
    app.connect("doctree-read", with_classes)
    app.connect("doctree-read", with_tries, priority=400)
    app.connect("doctree-read", with_captions)
    app.connect("doctree-read", with_studies)
    # Runs before the theme draws the navigation (priority 500).
    app.connect("html-page-context", with_own_section, priority=400)
    app.connect("html-page-context", with_script)
    app.connect("build-finished", with_entrance)
    return {
        "version": "1",
        "env_version": _version(),
        "parallel_read_safe": False,
        "parallel_write_safe": False,
    }


def _version() -> int:
    """Returns a number for the sources of this package. Sphinx reads all pages again after a change
    of the number, since pages that it has read contain the data of interactive figures."""
    sources = sorted(Path(__file__).parent.glob("*.py"))
    content = b"".join(file.read_bytes() for file in sources)
    return int.from_bytes(hashlib.sha256(content).digest()[:4], "big")


def with_own_section(
    _: Sphinx, __: str, ___: str, context: dict[str, Any], ____: nodes.document | None
) -> None:
    """Makes the navigation unfold only the sections around the page."""
    if contents := context.get("toctree"):
        context["toctree"] = lambda **options: contents(**{**options, "collapse": True})


def subpages(app: Sphinx, name: str) -> list[str]:
    """Returns the subpages of a page, in the spelling of a list of contents."""
    page = Path(app.env.doc2path(name))
    if page.name == "README.md":
        return sorted(one.stem for one in page.parent.glob("*.md") if one != page)
    files = (one for kind in ("*.md", "*.ipynb") for one in page.with_suffix("").glob(kind))
    found = sorted(f"{page.stem}/{one.stem}" for one in files)
    if page.parent == Path(app.confdir):
        folders = (Path(app.srcdir) / page.stem).glob("*/README.md")
        found += sorted(f"/{page.stem}/{one.parent.name}/README" for one in folders)
    return found


def with_other_subpages(app: Sphinx, env: BuildEnvironment, *_: set[str]) -> list[str]:
    """Returns the pages whose contents follow from folders; Sphinx must always read them again."""
    return [name for name in env.found_docs if name == app.config.root_doc or subpages(app, name)]


def with_contents(app: Sphinx, name: str, source: list[str]) -> None:
    """Adds the contents of the site to its first page, and to every other page its subpages."""
    if name != app.config.root_doc:
        if below := subpages(app, name):
            source[0] += _contents("", below)
        return
    page = Path(app.env.doc2path(name))
    named = {page.stem, *(one for listed in CONTENTS.values() for one in listed or ())}
    rest = sorted(one.stem for one in page.parent.glob("*.md") if one.stem not in named)
    for heading, listed in CONTENTS.items():
        source[0] += _contents(f":caption: {heading}\n", rest if listed is None else listed)


def with_studies(app: Sphinx, page: nodes.document) -> None:
    """Turns the names of the studies' pages (:mod:`manual.reproduced`) into links."""
    if app.env.current_document.docname != "docs/studies":
        return
    for text in list(page.findall(nodes.literal)):
        if text.astext().startswith("studies/") and text.astext().endswith(".html"):
            link = nodes.reference("", "", refuri=f"../{text.astext()}")
            text.replace_self(link)
            link += text


def _contents(options: str, listed: list[str]) -> str:
    return "\n```{toctree}\n:hidden:\n" + options + "\n" + "\n".join(listed) + "\n```\n"


def with_tries(app: Sphinx, page: nodes.document) -> None:
    """Replaces the comments that describe interactive figures by hidden elements, which the page's
    script shows. An error of a description is an error of the build, with its line. The test of the
    page also runs the scenario (:func:`manual.tries.check`)."""
    name = app.env.current_document.docname
    text = Path(app.env.doc2path(name)).read_text(encoding="utf-8")
    for comment in list(page.findall(nodes.raw)):
        found = next(iter(blocks.read(comment.astext())), None)
        if found is None or not found.title:
            continue
        try:
            spec = tries.page_spec(found.text, tries.scenarios(text))
        except tries.TryError as error:
            line = (comment.line or 0) + error.line(found.text)
            LOG.error("the interactive figure is wrong: %s", error, location=(name, line))
            continue
        comment.replace_self(nodes.raw("", tries.element(found.title, spec), format="html"))


def with_script(app: Sphinx, _: str, __: str, ___: dict[str, Any], page: nodes.document | None) -> None:
    """Adds the script to pages with interactive figures."""
    if page is not None and app.config.has_site_script:
        raws = page.findall(nodes.raw)
        if any(raw.astext().startswith('<div class="try"') for raw in raws):
            app.add_css_file("try.css")
            app.add_js_file("try.js", loading_method="defer")


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
    """Adds the class ``keys`` to tables with one key, column or statement per row."""
    for table in page.findall(nodes.table):
        heading = next(iter(table.findall(nodes.thead)), None)
        words = [entry.astext() for entry in heading.findall(nodes.entry)] if heading else []
        if len(words) > 2 and words[0] in ("key", "column", "statement"):
            table["classes"].append("keys")


def with_entrance(app: Sphinx, error: Exception | None) -> None:
    """Writes index.html, which redirects to the root page of the site."""
    if error is None and app.builder.format == "html":
        target = f"{app.config.root_doc}.html"
        (Path(app.outdir) / "index.html").write_text(
            f'<!doctype html><meta charset="utf-8"><title>bentpipe</title>'
            f'<meta http-equiv="refresh" content="0; url={target}"><a href="{target}">bentpipe</a>\n'
        )
