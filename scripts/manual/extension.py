"""Sphinx extension: figures drawn by the blocks of a page, a gallery, and contents from folders.

- Subpages: a page ``NAME.md`` has the pages of the folder ``NAME`` as subpages. Likewise, a
  ``README.md`` has the other pages of its folder, and ``docs/studies.md`` has the studies' READMEs.
  So a new page needs no entry in any list.
- ``{plot}``: see :mod:`manual.blocks`.
- ``{gallery}``: the subpages of the page, each with its first figure and its first paragraph.
- ``{pages}``: the pages of the folder that no list of contents on this page names.
- The navigation unfolds only the sections around the current page. Unfolding all 260 pages made the
  site half as large again, and its build half as long again.
- Tables of keys, columns and statements have the class ``keys``, so that the style sheet can stack
  their cells on narrow screens.
"""

from __future__ import annotations

import contextlib
import io
import re
import tempfile
from pathlib import Path
from typing import Any, ClassVar, Final

from docutils import nodes
from docutils.parsers.rst import directives
from docutils.statemachine import StringList
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

from . import blocks, figures

LOG: Final = logging.getLogger(__name__)


def setup(app: Sphinx) -> dict[str, Any]:
    """Registers the directives and event handlers in Sphinx."""
    app.add_directive("plot", Plot)
    app.add_directive("gallery", Gallery)
    app.connect("env-get-outdated", with_other_subpages)
    app.connect("env-before-read-docs", draw)
    app.connect("source-read", with_contents)
    app.connect("doctree-read", with_classes)
    # Runs before the theme draws the navigation (priority 500).
    app.connect("html-page-context", with_own_section, priority=400)
    app.connect("build-finished", with_entrance)
    return {"version": "1", "parallel_read_safe": False, "parallel_write_safe": False}


def with_own_section(
    _: Sphinx, __: str, ___: str, context: dict[str, Any], ____: nodes.document | None
) -> None:
    """Makes the navigation unfold only the sections around the page."""
    if contents := context.get("toctree"):
        context["toctree"] = lambda **options: contents(**{**options, "collapse": True})


def draw(_: Sphinx, env: BuildEnvironment, names: list[str]) -> None:
    """Draws outdated figures, by running all blocks of their pages."""
    for name in sorted(env.found_docs):
        page = Path(env.doc2path(name)).read_text(encoding="utf-8")
        if "```{plot}" not in page or figures.current(name, page):
            continue
        LOG.info("drawing the figures of %s", name)
        with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as drawn:
            with contextlib.closing(blocks.Session(Path(folder), Path(drawn))) as session:
                for block in blocks.read(page):
                    if block.runs:
                        with contextlib.redirect_stdout(io.StringIO()):
                            session.run(block)
            figures.keep(name, page, Path(drawn))
        # Sphinx must read a page again if its figures changed.
        if name not in names:
            names.append(name)


class Plot(SphinxDirective):
    """The directive ``{plot}``: a program and the figure that it draws."""

    has_content = True
    required_arguments = 1
    final_argument_whitespace = True
    option_spec: ClassVar[Any] = {"hide": directives.flag}

    def run(self) -> list[nodes.Node]:
        """Returns the nodes of the program and of the figure with its caption."""
        count = int(self.env.temp_data.get("plots") or 0) + 1
        self.env.temp_data["plots"] = count
        shown: list[nodes.Node] = []
        if "hide" not in self.options:
            text = "\n".join(self.content)
            shown.append(nodes.literal_block(text, text, language="python"))
        image = nodes.image(uri=f"/{figures.FOLDER}/{self.env.docname}/{count}.png", alt=self.arguments[0])
        figure = nodes.figure("", image, nodes.caption(self.arguments[0], self.arguments[0]))
        return [*shown, figure]


class Gallery(SphinxDirective):
    """The directive ``{gallery}``: the subpages of this page as cards."""

    def run(self) -> list[nodes.Node]:
        """Returns a container with one card per subpage, in the order of their names."""
        here = Path(self.env.doc2path(self.env.docname))
        whole = nodes.container(classes=["gallery"])
        for file in sorted(here.with_suffix("").glob("*.md")):
            title, question = head(file.read_text(encoding="utf-8"))
            link = f"{here.stem}/{file.name}"
            figure = f"/{figures.FOLDER}/{self.env.docname}/{file.stem}/1.png"
            card = nodes.container(classes=["card"])
            text = [f"[![]({figure})]({link})", "", f"[{title}]({link})", "", question]
            self.state.nested_parse(StringList(text, source=str(here)), self.content_offset, card)
            whole += card
        return [whole]


def head(page: str) -> tuple[str, str]:
    r"""Returns title and first paragraph of a page, as text: links are relative to the page.

    >>> head("# One\n\nTwo\n[three](../three.md).\n\nFour.\n")
    ('One', 'Two three.')
    """
    match = re.match(r"# (.+)\n\n+(?:<!--.*?-->\n+)*((?:.+\n)+)", page)
    assert match is not None, f"a page must begin with a title and a paragraph: {page[:60]!r}"
    return match[1], re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", " ".join(match[2].split()))


def subpages(app: Sphinx, name: str) -> list[str]:
    """Returns the subpages of a page, in the spelling of a list of contents."""
    page = Path(app.env.doc2path(name))
    if page.name == "README.md":
        return sorted(one.stem for one in page.parent.glob("*.md") if one != page)
    found = sorted(f"{page.stem}/{one.stem}" for one in page.with_suffix("").glob("*.md"))
    if page.parent == Path(app.confdir):
        folders = (Path(app.srcdir) / page.stem).glob("*/README.md")
        found += sorted(f"/{page.stem}/{one.parent.name}/README" for one in folders)
    return found


def with_other_subpages(app: Sphinx, env: BuildEnvironment, *_: set[str]) -> list[str]:
    """Returns the pages whose contents follow from folders; Sphinx must always read them again."""
    return [name for name in env.found_docs if name == app.config.root_doc or subpages(app, name)]


def with_contents(app: Sphinx, name: str, source: list[str]) -> None:
    """Adds the subpages of a page to the contents, and replaces ``{pages}`` by a list of
    contents."""
    page = Path(app.env.doc2path(name))
    below = subpages(app, name)
    if "```{pages}" in source[0]:
        named = set(re.findall(r"^[\w./-]+$", source[0], re.MULTILINE))
        rest = sorted(one.stem for one in page.parent.glob("*.md") if one != page and one.stem not in named)
        listed = "\n".join(rest)
        source[0] = re.sub(
            r"^```\{pages\}(.*)\n(?:(:.*\n)*)```",
            lambda found: f"```{{toctree}}\n:hidden:\n:caption: {found[1].strip()}\n\n{listed}\n```",
            source[0],
            flags=re.MULTILINE,
        )
    if below and "{toctree}" not in source[0]:
        source[0] += "\n```{toctree}\n:hidden:\n\n" + "\n".join(below) + "\n```\n"


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
