"""The folders of studies, and the descriptions in their READMEs."""

from __future__ import annotations

import ast
import functools
import re
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bentpipe.documentation import CLONE, head, without_links
from bentpipe.errors import InputError, unknown


def with_kernel(folder: Path) -> tuple[str, ...]:
    """Returns the tests of the study in a folder that need a kernel in virtual time. Reads the
    source and does not run the study's code."""
    source = folder / "study.py"
    # Two threads of a web server that parsed at the same time got "SystemError: AST constructor
    # recursion depth mismatch" from Python 3.11.
    with _PARSER:
        return _kernel_tests(source, source.stat().st_mtime_ns)


_PARSER: Final = threading.Lock()


@functools.cache
def _kernel_tests(source: Path, _changed: int) -> tuple[str, ...]:
    tree = ast.parse(source.read_text(encoding="utf-8"))
    for statement in tree.body:
        if (
            isinstance(statement, ast.AnnAssign)
            and ast.unparse(statement.target) == "KERNEL"
            and statement.value
        ):
            return tuple(ast.literal_eval(statement.value))
    return ()


@dataclass(frozen=True)
class Description:
    """The description of a study in its README, in Markdown."""

    title: str
    #: The first paragraph.
    about: str
    #: The description of each test that the README has in its list of commands. A test ``A-causes``
    #: needs no entry.
    tests: dict[str, str]

    @property
    def plain(self) -> str:
        """The first paragraph without Markdown marks."""
        return plain(self.about)


def description(folder: Path) -> Description:
    """Returns the description of a study from its README; without a README, only its name. A test
    is described by the comment of a command: ``bentpipe reproduce STUDY --test TEST  #
    DESCRIPTION``."""
    readme = folder / "README.md"
    if not readme.is_file():
        return Description(name_of(folder), "", {})
    text = readme.read_text(encoding="utf-8")
    title, about = head(text)
    tests = dict(_COMMAND.findall(text))
    causes = {f"{test}-causes": f"causes of differences in `{test}`" for test in tests}
    return Description(title, about, causes | tests)


def plain(markdown: str) -> str:
    r"""Returns a paragraph without Markdown marks.

    >>> plain("Ada, *On\nengines*, with `--test a` and [terms](glossary.md)")
    'Ada, On engines, with --test a and terms'
    """
    return re.sub(r"[*`]", "", without_links(" ".join(markdown.split())))


_COMMAND: Final = re.compile(r"^ *bentpipe reproduce \S+ --test (\S+) +# (.+)$", re.MULTILINE)


def folders() -> list[Path]:
    """Returns the existing folders in which studies are searched, in order of precedence."""
    candidates = [Path.cwd() / "studies", CLONE / "studies"]
    return [folder for folder in dict.fromkeys(folder.resolve() for folder in candidates) if folder.is_dir()]


def name_of(folder: Path) -> str:
    """Returns the name of the study in a folder. The folder is a package, so it has underscores in
    place of the hyphens of the name."""
    return folder.name.replace("_", "-")


def known() -> dict[str, Path]:
    """Returns the folders of all studies by name."""
    found = [study.parent for parent in reversed(folders()) for study in parent.glob("*/study.py")]
    return dict(sorted((name_of(folder), folder) for folder in found))


def find(name: str) -> Path:
    """Returns the folder of a study, given its name or path. Raises :class:`bentpipe.InputError`
    for an unknown study."""
    if (Path(name) / "study.py").is_file():
        return Path(name).resolve()
    found = known()
    if name not in found:
        if not found:
            raise InputError(
                f'no study "{name}": studies are part of the repository; run the command in a checkout, or '
                "give the path of a study"
            )
        raise unknown("study", name, found)
    return found[name]
