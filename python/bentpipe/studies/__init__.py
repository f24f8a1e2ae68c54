"""Studies reproduce published experiments, with a verdict on every statement of the paper.

A study is a folder ``studies/NAME`` with ``study.py``, ``published.csv`` and its scenarios.
``study.py`` has one entry::

    def reproduce(test: str, out: Path, json: bool) -> Reproduction: ...

It runs one test of the study, writes runs below ``out``, and returns the verdicts, figures and
tables. It runs simulations with :func:`bentpipe.campaign.jobs.run_all`, which reuses complete runs.
With ``json``, a program reads standard output, so ``reproduce`` must not print to it. ``study.py``
imports the other files of the folder as ``from .name import ...``.

The name of a figure of the paper is ``figure-NUMBER-WORDS`` or ``table-NUMBER-WORDS``, such as
``figure-5b-breaks``: the page of the study shows it next to the statements whose ``source``
names this figure or table (:func:`labels`). A figure draws the paper's values from
``published.csv`` with the functions of :mod:`bentpipe.plots.published`.

Optional arguments of ``reproduce``, and optional constants of ``study.py``:

- ``TESTS``: the names of the tests in the order in which the complete study runs them. The default
  is the tests of ``published.csv``.
- ``FIGURES``: the figures by label (the number of the paper's figure, "table-1", or the name of a
  figure that the paper does not have), each with its test and its caption
  (:class:`PaperFigure`).
- ``EXTRA``: names of further tests, which the complete study does not run.
- ``clock``: for a study with tests that can run on further clocks than the virtual one. ``CLOCKS``
  has the names of these tests by clock.
- ``replications``: for a study that is a campaign, the number of runs per point.
- ``traces``: for a study with traces of frames, a folder with the user's traces.
- ``KERNEL``: the tests that need a kernel in virtual time on every clock (:func:`with_kernel`).

``published.csv`` has one row per statement, with the columns ``id, test, role, text, relation,
value, unit, tolerance, source, runs, deviation, suspected``. ``role`` is empty for a claim of the
paper, and otherwise one of :data:`ROLES`. Only claims are counted. The tolerance is in the unit of
the value or, with a percent sign, a percentage of the value. ``runs`` names the runs that give our
value, as patterns of folders below ``out``, separated by spaces. ``deviation`` is the cause of a
difference that an experiment has confirmed. ``suspected`` is a cause that no experiment has
confirmed, or "open" if the cause is unknown. Both are short. The study's README has the details,
and describes the study and its tests (see :func:`description`). ``bentpipe reproduce NAME
--record`` records the results in the study's folder (see :func:`record`), from which ``make
generate`` writes the README's tables of verdicts and the site's page of the study.

Studies are part of the repository, not of the installed package, because people read and change
their data, scenarios and text. :func:`find` searches the current folder and the checkout from which
the package runs.
"""

from __future__ import annotations

from .folders import Description, description, find, known, name_of, with_kernel
from .recording import record, recorded, summary
from .results import PaperFigure, Reproduction, Result, Table, bar, label_of, labels
from .running import CLOCKS, Clock, Study, clock_of, load, run
from .statements import OUTCOMES, ROLES, Outcome, Role, Statement, Verdict, judge, read_published

__all__ = [
    "CLOCKS",
    "OUTCOMES",
    "ROLES",
    "Clock",
    "Description",
    "Outcome",
    "PaperFigure",
    "Reproduction",
    "Result",
    "Role",
    "Statement",
    "Study",
    "Table",
    "Verdict",
    "bar",
    "clock_of",
    "description",
    "find",
    "judge",
    "known",
    "label_of",
    "labels",
    "load",
    "name_of",
    "read_published",
    "record",
    "recorded",
    "run",
    "summary",
    "with_kernel",
]
