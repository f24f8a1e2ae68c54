"""``bentpipe conform``: tests a congestion control against its standard."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bentpipe.errors import InputError

from .common import TROUBLE, Json
from .matrix.common import Build

if TYPE_CHECKING:
    from bentpipe.conform import Result
    from bentpipe.conform.programs import Programs


#: Names of stacks that are not programs.
ENGINE, LINUX = "engine", "linux"


def conform(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="The standard: bbr3 or cubic.", show_default=False)
    ],
    control: Annotated[
        str | None,
        typer.Option(
            metavar="FILE.c|NAME",
            help="The congestion control to test: a C file, which is compiled and runs with your permissions, "
            "or a name of `bentpipe variants`; with --stack linux a control of the kernel, such as linux-bbr; with "
            "another stack one of its own.",
            show_default="NAME, linux-NAME, or the closest of the stack",
        ),
    ] = None,
    case: Annotated[
        str,
        typer.Option(
            metavar="PATTERN",
            help="Only cases with this section, or with names that match, with * and ?, such as probe-rtt*.",
            show_default="all",
        ),
    ] = "*",
    stack: Annotated[
        str,
        typer.Option(
            metavar="STACK",
            help="The stack: engine (simulated TCP); on a Linux kernel in virtual time, built by "
            "`bentpipe machine kernel build`: linux (its TCP), or QUIC of quinn, noq, quiche, s2n-quic or tquic.",
        ),
    ] = ENGINE,
    build: Build = False,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Also write an HTML page.", show_default=False)
    ] = None,
    json: Json = False,
) -> None:
    """Test a congestion control against its standard.

    Each case of the standard runs in a small scenario. Values measured on the path are compared
    with the ranges that the standard allows. The verdict is pass, fail or not applicable.

    Exit code 1 if a case fails.
    """
    from bentpipe.conform import FAIL, Lab, documents, emulated, simulated, standard

    from .output import of_format, print_json, write_text
    from .progress import Bar
    from .stopping import stoppable

    given = standard(name)
    cases = given.matching(case)
    if html is not None:
        of_format(html, (".html",))
    if stack in (ENGINE, LINUX):
        about = {"control": control or (name if stack == ENGINE else f"linux-{name}"), "stack": stack}
        lab = Lab(_control(about["control"], stack), simulated if stack == ENGINE else emulated)
    else:
        programs = _programs(stack, name, control, build=build)
        about = {"control": programs.server.control, "stack": f"{stack} {programs.server.version}"}
        lab = Lab(programs.server.control, programs)
    results = []
    with stoppable() as stop, Bar(f"testing {about['control']}", stop) as bar:
        for number, one in enumerate(cases):
            if not bar.advance(number / len(cases)):
                raise typer.Exit(stop.exit_code)
            results.append(one.run(lab))
    about = {"standard": given.title, **about}
    if json:
        print_json(documents.document(results, about))
    else:
        _print(results, about)
    if html is not None:
        write_text(html, documents.html(results, about))
    if any(one.verdict == FAIL for one in results):
        raise typer.Exit(TROUBLE)


def _control(control: str, stack: str) -> str | dict[str, str]:
    """Returns the value of the key `congestion`. Permits the code of a file."""
    if not control.endswith(".c"):
        return control
    if stack == LINUX:
        raise InputError(
            f"{control}: the kernel of the stack linux cannot load C files, since User-Mode Linux has no "
            "just-in-time compiler of BPF; allowed: a control of the kernel, such as linux-bbr"
        )
    from bentpipe.scenario.prototypes import allow_code

    allow_code()
    return {"file": str(Path(control).resolve())}


def _programs(stack: str, name: str, control: str | None, *, build: bool) -> Programs:
    """Returns the programs of a stack with a control, built."""
    from bentpipe.conform.programs import Programs, receiver, sender
    from bentpipe.matrix.building import built

    from .matrix.common import build_stacks

    programs = Programs(sender(stack, name, control), receiver())
    every = {one.name: one for one in (programs.server, programs.client)}.values()
    if build:
        build_stacks(every)
    for one in every:
        done = built(one)
        if done is None or done.failure:
            raise InputError(f"{one.name} is not built; add --build, or see the reason of its failure there")
    return programs


def _print(results: list[Result], about: dict[str, Any]) -> None:
    from bentpipe.conform import PASS, documents

    from .output import print_note, print_table

    print_note(f"{about['standard']}; control {about['control']}, stack {about['stack']}")
    rows = [[one.case.section, one.case.name, one.verdict] for one in results]
    print_table(("section", "case", "verdict"), rows, text_columns=3)
    for one in results:
        if len(results) > 1 and one.verdict == PASS:
            continue
        print_note(f"{one.case.section} {one.case.title}:")
        if len(results) == 1:
            print_note(f"  {one.case.says}", indent=2)
        for line in one.explanation:
            print_note(f"  {line}", indent=4)
    typer.echo(documents.counts(results))
