"""Runs studies and writes their figures."""

from __future__ import annotations

import importlib.util
import inspect
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, Final, Literal, cast, get_args

from bentpipe.errors import InputError, unknown

from .folders import name_of
from .results import PaperFigure, Reproduction, Result
from .statements import read_published

#: The clocks on which a study can run: "virtual" (models in virtual time), "real" (kernels in real
#: time), and "kernel" (kernels in virtual time).
Clock = Literal["virtual", "real", "kernel"]

CLOCKS: Final = get_args(Clock)

#: Formats of the files of a figure. The first is that of the page.
FORMATS: Final = ("png", "svg", "pdf")


@dataclass(frozen=True)
class Study:
    """A study whose code is loaded. See :mod:`bentpipe.studies` for the constants."""

    folder: Path
    module: ModuleType
    #: Tests of the complete study, in order.
    tests: tuple[str, ...]
    #: Further tests.
    extra: tuple[str, ...]
    #: Figures by label.
    figures: Mapping[str, PaperFigure]
    #: The tests that support each clock.
    clocks: Mapping[Clock, tuple[str, ...]]

    @property
    def name(self) -> str:
        """The name of the study, with hyphens."""
        return name_of(self.folder)

    def supporting(self, clock: Clock) -> tuple[str, ...]:
        """Returns the tests that support a clock. Raises :class:`bentpipe.InputError` if there are
        none."""
        if clock in self.clocks:
            return self.clocks[clock]
        if len(self.clocks) == 1:
            raise InputError(f"the study {self.name} has fixed clocks; leave out --clock {clock}")
        raise unknown("clock", clock, self.clocks, f"the study {self.name}")

    def chosen(
        self, test: str | None = None, figure: str | None = None, clock: Clock = "virtual"
    ) -> Sequence[str]:
        """Returns the names of the tests to run: the test, the test that draws the figure, or all
        tests of the complete study that support the clock. Raises :class:`bentpipe.InputError` for
        an unknown test or figure, for a figure of another test, and for a test that does not
        support the clock."""
        supporting = self.supporting(clock)
        if test not in (None, *self.tests, *self.extra):
            raise unknown("test", test or "", (*self.tests, *self.extra), f"the study {self.name}")
        if figure is not None:
            if figure not in self.figures:
                raise unknown("figure", figure, self.figures, f"the study {self.name}")
            drawing = self.figures[figure].test
            if test not in (None, drawing):
                raise InputError(f"the test {drawing} draws the figure {figure}; leave out --test {test}")
            test = drawing
        if test is None:
            return tuple(one for one in self.tests if one in supporting)
        if test not in supporting:
            raise InputError(
                f"the test {test} does not support --clock {clock}; tests that do: {', '.join(supporting)}"
            )
        return (test,)


def load(folder: Path) -> Study:
    """Loads the code of the study in a folder. Raises :class:`bentpipe.InputError` if ``study.py``
    has no ``reproduce``."""
    module = _module(folder)
    if not hasattr(module, "reproduce"):
        raise InputError(f"{folder / 'study.py'}: a study must define reproduce")
    tests = getattr(module, "TESTS", None)
    if tests is None:
        tests = dict.fromkeys(one.test for one in read_published(folder / "published.csv"))
    extra, figures = getattr(module, "EXTRA", ()), getattr(module, "FIGURES", {})
    clocks: dict[Clock, tuple[str, ...]] = {"virtual": (*tests, *extra), **getattr(module, "CLOCKS", {})}
    return Study(folder, module, tuple(tests), tuple(extra), figures, clocks)


def clock_of(name: str) -> Clock:
    """Returns the clock with this name. Raises :class:`bentpipe.InputError` for an unknown
    clock."""
    if name not in CLOCKS:
        raise unknown("clock", name, CLOCKS)
    return cast("Clock", name)


def run(
    study: Study,
    tests: Sequence[str],
    out: Path,
    *,
    json: bool,
    clock: Clock = "virtual",
    replications: int | None = None,
    traces: Path | None = None,
) -> Iterator[Result]:
    """Runs tests of a study and yields the results of each. Writes the runs and, in the subfolder
    ``figures``, the figures below ``out``.

    With a clock other than "virtual", the name of a result is that of the test and of the clock.
    Raises the errors of the study's ``reproduce``. Raises :class:`bentpipe.InputError` for a clock,
    ``replications`` or ``traces`` that the study does not support."""
    options = _options(study, clock, replications, traces)
    for test in tests:
        done = study.module.reproduce(test, out, json, **options)
        if not isinstance(done, Reproduction):
            raise TypeError(
                f"{study.folder / 'study.py'}: reproduce must return a Reproduction, not {done!r}"
            )
        name = test if clock == "virtual" else f"{test}-{clock}"
        yield Result(name, done.verdicts, _save(done, out / "figures"), done.notes, done.tables)


def _save(done: Reproduction, folder: Path) -> list[Path]:
    if not done.figures:
        return []
    from bentpipe import plots

    files = []
    for name, figure in done.figures.items():
        first, *_ = [plots.save(figure, folder / f"{name}.{ending}") for ending in FORMATS]
        files.append(first)
    return files


def _options(study: Study, clock: Clock, replications: int | None, traces: Path | None) -> dict[str, object]:
    """Returns the optional arguments of the study's ``reproduce``."""
    parameters = inspect.signature(study.module.reproduce).parameters
    options: dict[str, Any] = {}
    if study.supporting(clock) and clock != "virtual":
        options["clock"] = clock
    if replications is not None:
        if "replications" not in parameters:
            raise InputError(
                f"the study {study.name} has a fixed number of replications; leave out --replications"
            )
        options["replications"] = replications
    if traces is not None:
        if "traces" not in parameters:
            raise InputError(f"the study {study.name} has no traces of frames; leave out --traces")
        options["traces"] = traces
    return options


def _module(folder: Path) -> ModuleType:
    name = f"bentpipe_study_{folder.name.replace('-', '_')}"
    # Load the study as a package, so that study.py can import other files of the folder: ``from
    # .curves import ...``.
    spec = importlib.util.spec_from_file_location(
        name, folder / "study.py", submodule_search_locations=[str(folder)]
    )
    assert spec is not None and spec.loader is not None, "importlib has a loader for every .py file"
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look up their module by name.
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
