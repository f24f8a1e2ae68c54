"""Configuration of Sphinx for the site (`make docs`).

The pages are docs/**.md, the READMEs of the studies, and the pages of the repository's first folder. Sphinx reads them
where they are, so that their links work in the repository, too.
"""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))

import bentpipe  # noqa: E402
import furo  # noqa: E402 - the path has to come first
import myst_nb  # noqa: E402
from manual import playground, reproduced  # noqa: E402

project = "bentpipe"
release = bentpipe.__version__
extensions = [myst_nb.__name__, "manual.extension"]
myst_heading_anchors = 4

root_doc = "docs/index"
source_suffix = {".md": "myst-nb", ".ipynb": "myst-nb"}
# The notebooks have outputs; `scripts/notebooks --check` keeps them current.
nb_execution_mode = "off"
include_patterns = [
    "docs/**/*.md",
    "docs/*.md",
    "docs/notebooks/*.ipynb",
    "studies/*/README.md",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
]
# Without these Sphinx would look for pages in every folder of the repository.
exclude_patterns = [
    place.name for place in ROOT.iterdir() if place.is_dir() and place.name not in ("docs", "studies")
]

html_theme = furo.__name__
html_title = f"bentpipe {release}"
# The scripts of the interactive figures and the playground, and the engine (scripts/web site).
SCRIPTS = ROOT / "build" / "site-scripts"
has_site_script = all((SCRIPTS / name).is_file() for name in ("engine.js", "try.js", "playground.js"))
if has_site_script:
    playground.write(SCRIPTS)
# The pages of the studies, and the page of the playground.
STUDIES = ROOT / "build" / "site-studies"
reproduced.write(STUDIES)
html_extra_path = [str(STUDIES), *(["_extra"] if has_site_script else [])]
html_static_path = ["_static", *([str(SCRIPTS)] if has_site_script else [])]
html_css_files = ["site.css"]
html_copy_source = False
html_show_copyright = False
html_show_sphinx = False
# The search needs no stemmer's word list of another language.
html_search_language = "en"
html_theme_options = {"navigation_with_keys": True}
templates_path = ["_templates"]
# Furo's parts, and a link to the playground.
html_sidebars = {
    "**": [
        "sidebar/brand.html",
        "sidebar/search.html",
        *(["sidebar/playground.html"] if has_site_script else []),
        "sidebar/scroll-start.html",
        "sidebar/navigation.html",
        "sidebar/scroll-end.html",
    ]
}
