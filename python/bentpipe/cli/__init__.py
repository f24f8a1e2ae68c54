"""The command line. One file per command; shared code is in ``common``, ``output`` and
``stopping``.

Commands are imported when they are used, and heavy modules when a command needs them, so that all
commands start quickly.
"""

from __future__ import annotations

from .interrupts import quietly

with quietly():
    from typing import Annotated, Any, Final

    import typer

    from .lazy import GroupedCommands, Section
    from .renamed import refuse_old_command
    from .streams import make_writable

#: The commands in the order of --help, by purpose. Each is a file or a folder of this folder.
SECTIONS: Final = {
    "Describe a network": Section(
        "A scenario describes links, nodes and traffic in a TOML file.",
        ("new", "profiles", "check", "show", "variants", "trace", "fit", "score", "schema"),
    ),
    "Run it": Section(
        "All instruments read the same scenario and write the same tables.",
        (
            *("predict", "simulate", "emulate", "measure", "reflect", "audit"),
            *("conform", "campaign", "matrix", "reproduce"),
        ),
    ),
    "Read results": Section(
        "A run is a folder of tables, which these commands read.",
        ("report", "plot", "export", "compare", "explain"),
    ),
    "Use real programs in it": Section(
        "An emulated network carries the packets of any program.",
        ("run", "shell", "net"),
    ),
    "Work in one field": Section(
        "Each is a family of commands: `bentpipe voice --help` lists them.",
        ("voice", "space", "dtn", "sensors"),
    ),
    "Share it": Section(
        "A group shares scenarios and runs in a test bed.",
        ("serve", "lab"),
    ),
    "Get help": Section(
        "Read the documentation, and check that this machine can emulate.",
        ("docs", "machine"),
    ),
}


#: The option of all commands that read scenarios.
_ALLOW_CODE: Final = "--allow-code"


class _Commands(GroupedCommands):
    """All commands."""

    package = __name__
    sections = SECTIONS

    def resolve_command(self, ctx: typer.Context, args: list[str]) -> Any:  # type: ignore[override]
        """Refuses the old name of a command with its new name."""
        if not ctx.resilient_parsing:
            refuse_old_command(args[0])
        return super().resolve_command(ctx, args)

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        """Accepts ``--allow-code`` also after the command."""
        own = args.index("--") if "--" in args else len(args)
        if _ALLOW_CODE in args[1:own]:
            args = [_ALLOW_CODE, *(word for word in args[:own] if word != _ALLOW_CODE), *args[own:]]
        return super().parse_args(ctx, args)


app = typer.Typer(
    name="bentpipe",
    cls=_Commands,
    help="Predict, simulate and emulate Internet traffic over satellites from one scenario, and compare the results.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _version(wanted: bool) -> None:
    if wanted:
        from bentpipe import _native

        typer.echo(f"bentpipe {_native.version()}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[  # noqa: ARG001 - acts as it is read
        bool, typer.Option("--version", help="Print the version.", callback=_version, is_eager=True)
    ] = False,
    allow_code: Annotated[
        bool,
        typer.Option(
            _ALLOW_CODE,
            help="Compile the congestion controls that a scenario contains as C source, and run them with "
            "your permissions. Also accepted after the command.",
        ),
    ] = False,
) -> None:
    """Options of all commands."""
    if allow_code:
        from bentpipe.scenario.prototypes import allow_code as allow

        allow()


def main() -> None:
    """The entry point ``bentpipe``."""
    make_writable()
    app()
