"""Links between pages have a target, and the glossary defines the abbreviations of the pages. Needs
no built site."""

from __future__ import annotations

import functools
import re
from collections import Counter
from pathlib import Path
from urllib.parse import unquote

from bentpipe.documentation import anchor, without_links
from generators.listings import MARK
from helpers import ROOT

PAGES = sorted(
    [
        *ROOT.glob("*.md"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "studies").glob("*/README.md"),
    ]
)
GLOSSARY = ROOT / "docs/glossary.md"

#: A link or picture of Markdown to a file or a heading of this repository.
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)\s#]*)(?:#([^)\s]+))?\)")

#: An abbreviation: a word with at least two capitals.
ABBREVIATION = re.compile(r"(?<![\w./-])[A-Z][A-Za-z]*[A-Z][A-Za-z]*[0-9]*(?![\w/-])")

#: Pages for developers, and pages that are generated or describe their time.
NOT_CHECKED = (
    "docs/decisions/",
    "docs/notes/",
    "docs/reference/",
    "studies/",
    "docs/changes-",
    "docs/studies",
    "CHANGELOG",
)

#: Abbreviations that need no definition: names, units, formats, and common knowledge of network
#: engineers.
WITHOUT_DEFINITION = """
AES AF4x API BCB BIB BIC BLESS CHANGELOG CI CLI CONTRIBUTING CPU CSV DATA DE421 DNS DTNperf EP1 EP2
EP6 FCC FECFRAMEs FIFO FTP GB GCM GHz GIL GPL GSM GitHub GitLab HDTN HMAC HTB HTML HTTP HTTPS ICNP
IDE IEEE ION IP IPv4 IPv6 ITU JIT JPL JSON KIND KiB LAN LANMAN LEDBAT LTE LaTeX LeoReplayer LiteRT
MB MBd MHz MIT MODCODs MPEG MiB NAME NEXT NaN NetSatBench NewReno OCI OpenAPI OpenSAND PDF PNG PSH
PTP PostgreSQL ProbeRTT PyPI QPSK README READMEs REST RFC RS SGP4 SHA2 SHOULD SNS3 SQL SSH SVG SYN
SatNEx TCP TLS TOML TrueType UDP URL VS VSCodium WSL WebRTC
"""
KNOWN = frozenset(WITHOUT_DEFINITION.split())

#: Terms of the glossary that are also common words. A page links them where it uses the term.
WORDS = """
FER L ST TM allocator bottleneck bundle burst campaign carrier clock constellation contact edge
emulation fade fidelity flow frame framing gateway group guest handover hop hub impulse instrument
jitter leg load logon mask metric mote outage pacing parity prediction preset probe profile
reflector report run scenario schema scheme seed shell simulation slot split stage star study
terminal trace train transaction trunk unit variant variation verdict wake waveform window
"""
COMMON_WORDS = frozenset(WORDS.split())


@functools.cache
def headings(page: Path) -> list[str]:
    """Returns the anchors of a page's headings, as code hosts and the site derive them."""
    text = re.sub(
        r"^(```+).*?^\1[ \t]*$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE
    )
    seen: Counter[str] = Counter()
    found = []
    for title in re.findall(r"^#{1,6} (.+)$", text, re.MULTILINE):
        name = anchor(without_links(title))
        found.append(f"{name}-{seen[name]}" if seen[name] else name)
        seen[name] += 1
    return found


def prose(page: Path) -> str:
    """Returns a page without blocks, code, targets of links, comments, and the generated list of
    questions of other pages."""
    text = page.read_text(encoding="utf-8").partition(MARK)[0]
    text = re.sub(r"^(```+).*?^\1[ \t]*$", " ", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"<!--.*?-->", " ", text, flags=re.DOTALL)
    text = re.sub(r"`[^`]*`", " ", text)
    return re.sub(r"\]\([^)]*\)", "]", text)


def test_every_link_between_pages_has_an_end() -> None:
    wrong = []
    count = 0
    for page in PAGES:
        text = re.sub(
            r"^(```+).*?^\1[ \t]*$", "", page.read_text(encoding="utf-8"), flags=re.DOTALL | re.MULTILINE
        )
        for path, fragment in LINK.findall(re.sub(r"`[^`\n]*`", "", text)):
            count += 1
            target = (page.parent / unquote(path)).resolve() if path else page
            if not target.exists():
                wrong.append(f"{page.relative_to(ROOT)}: {path} is missing")
            elif fragment and target.suffix == ".md" and unquote(fragment) not in headings(target):
                wrong.append(f"{page.relative_to(ROOT)}: {path}#{fragment} is no heading")
    assert count > 500
    assert not wrong, "\n".join(wrong)


def test_terms_of_the_glossary_are_in_order_and_defined_once() -> None:
    text = GLOSSARY.read_text(encoding="utf-8")
    terms = re.findall(r"^### (.+)$", text, re.MULTILINE)
    keys = [re.sub(r"[-/]", " ", term.lower()) for term in terms]
    assert len(terms) > 150
    assert keys == sorted(set(keys))
    for term, definition in re.findall(r"^### (.+)\n\n(.*)$", text, re.MULTILINE):
        assert definition.endswith("."), term
        assert len(definition.split()) < 60, f"{term}: the definition is long; its page explains it"


def test_the_glossary_defines_every_abbreviation_of_the_pages() -> None:
    defined = set(re.findall(r"\b[\w/-]+", GLOSSARY.read_text(encoding="utf-8")))
    unknown: dict[str, str] = {}
    for page in PAGES:
        name = str(page.relative_to(ROOT))
        if not name.startswith(NOT_CHECKED):
            for word in ABBREVIATION.findall(prose(page)):
                if word not in KNOWN and word not in defined and word.removesuffix("s") not in defined:
                    unknown.setdefault(word, name)
    assert not unknown, f"add to docs/glossary.md, or to KNOWN if it needs no definition: {unknown}"


def uses(term: str, text: str) -> bool:
    """Returns true if a text contains a term, also as a plural or at the start of a sentence."""
    first = f"[{term[0]}{term[0].upper()}]" if term[0].islower() else re.escape(term[0])
    return bool(re.search(rf"(?<![\w./'-]){first}{re.escape(term[1:])}s?(?![\w/-])", text))


def test_every_page_links_its_terms_to_the_glossary() -> None:
    entries = re.findall(r"^### (.+)$", GLOSSARY.read_text(encoding="utf-8"), re.MULTILINE)
    terms = [term for term in entries if term not in COMMON_WORDS | KNOWN]
    assert len(terms) > 150
    missing = []
    count = 0
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        name = str(page.relative_to(ROOT))
        if name.startswith(NOT_CHECKED) or page == GLOSSARY or "<!-- Generated" in text:
            continue
        # Titles, links to other pages and indented code may contain terms.
        words = re.sub(r"^(#| {4}[^\s*\-\d]).*$", "", prose(page), flags=re.MULTILINE)
        words = re.sub(r"\[[^]]*\]", "", words)
        for term in terms:
            if f"glossary.md#{anchor(term)})" in text:
                count += 1
            elif uses(term, words):
                missing.append(f"{name}: {term}")
    assert count > 300
    assert not missing, "link the first use to docs/glossary.md:\n" + "\n".join(missing)
