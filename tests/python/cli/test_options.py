"""One meaning has one option name, type and wording in all commands."""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import pytest
from bentpipe.cli.renamed import OPTIONS
from helpers.command_tree import LEAVES, TREE
from rigs import commands

#: Options that denote different things in different commands, with the reason.
OTHER_THINGS = {
    "--body": "the body of a request, and a celestial body",
    "--control": "a conformance test has one control, a matrix has several",
    "--group": "a group of users, and a group of nfnetlink_log",
    "--plan": "a plan of a measurement has a name or a file, a contact plan has a file",
    "--port": "a proxy has ports of servers, and ranges of them",
    "--stack": "a conformance test runs on the engine or on Linux, a matrix has several stacks",
    "--set": "the E-model has symbols, a scenario has keys",
    "--terminal": "a measurement needs the position of the terminal, a run has its name",
    "--to": "a proxy has networks of destinations, a bundle has one destination",
}
#: Options whose values have several forms, with the reason.
FORMS = {
    "--by": "a campaign can be grouped by several keys",
    "--figure": "a campaign has one figure per call",
    "--from": "a contact plan names nodes, an agent endpoints",
    "--listen": "an agent listens on several layers, the others on TCP",
    "--name": "a server may have several names",
    "--out": "a file or a folder",
    "--speech": "a conference has several callers",
    "--via": "the proxy needs TCPCL",
}
#: The first words of the description of an option that names the thing in each command.
OPENINGS = {
    "--at": "A time of",
    "--by": "Group",
    "--clock": "The clock:",
    "--duration": "Duration of",
    "--figure": "The figure:",
    "--flow": "The flow",
    "--from": "Source of",
    "--interval": "Time between",
    "--jobs": "Number of",
    "--listen": "Address at which",
    "--mask": "Lowest elevation at which",
    "--name": "Name",
    "--out": "The ",
    "--rate": "Rate of",
    "--rows": "The table to export",
    "--seed": "Seed of",
    "--site": "Site",
    "--size": "Size of",
    "--speech": "Recording",
    "--user": "User",
}
#: Names that would be a second name for an option.
SYNONYMS = {
    "--jobs": ("--workers", "--processes", "--slots-at-once", "--parallel"),
    "--flow": ("--flows",),
    "--figure": ("--figures", "--plot", "--picture", "--chart"),
    "--out": ("--output", "--outfile", "--folder", "--file", "--target"),
    "--replications": ("--runs", "--repeats", "--repetitions"),
    "--duration": ("--seconds", "--hours", "--length", "--time"),
    "--interval": ("--every", "--period"),
    "--size": ("--bytes",),
    "--address": ("--bind", "--interface-address"),
    "--seed": ("--random", "--random-seed"),
    "--json": ("--format-json", "--as-json"),
    "--set": ("--override", "--change"),
}


@dataclass(frozen=True)
class Use:
    """An option of one command."""

    command: str
    metavar: str | None
    type: str
    help: str

    @property
    def form(self) -> tuple[str | None, str]:
        """The metavar and type of its value."""
        return self.metavar, self.type

    @property
    def sentence(self) -> str:
        """The first sentence of its description."""
        return re.split(r"(?<=[.;])\s", self.help.replace("\n", " "))[0].rstrip(".;")


def parameters(kind: str) -> list[tuple[str, Any]]:
    """Returns the visible options or arguments of all commands, each with the command's path."""
    return [
        (path, param)
        for path in LEAVES
        for param in TREE[path][0].get_params(TREE[path][1])
        if param.param_type_name == kind and not getattr(param, "hidden", False) and param.name != "help"
    ]


USES: dict[str, list[Use]] = defaultdict(list)
for _path, _param in parameters("option"):
    _kind = re.sub(r"<enum .*>|typing\.Literal.*", "<class 'str'>", str(_param.type_descriptor.annotation))
    _kind = _kind.removesuffix(" | None")
    _name = next(name for name in _param.opts if name.startswith("--"))
    USES[_name].append(Use(_path, _param.metavar, _kind, _param.help or ""))


def test_an_option_has_the_same_kind_of_value_in_all_commands() -> None:
    several = {name: {use.form for use in uses} for name, uses in USES.items()}
    assert {name for name, forms in several.items() if len(forms) > 1} == FORMS.keys() | OTHER_THINGS.keys()


def test_an_option_is_described_in_the_same_words_in_all_commands() -> None:
    several = {name: {use.sentence for use in uses} for name, uses in USES.items()}
    differing = {name: sentences for name, sentences in several.items() if len(sentences) > 1}
    assert differing.keys() == OPENINGS.keys() | OTHER_THINGS.keys()
    assert not [
        sentence
        for name, opening in OPENINGS.items()
        for sentence in differing[name]
        if not sentence.startswith(opening)
    ]


def test_a_meaning_has_one_name() -> None:
    names: dict[str, set[str]] = defaultdict(set)
    for name, uses in USES.items():
        for use in uses:
            names[use.sentence].add(name)
    assert not {sentence: found for sentence, found in names.items() if len(found) > 1}
    assert not {old for synonyms in SYNONYMS.values() for old in synonyms} & USES.keys()
    assert SYNONYMS.keys() <= USES.keys()


def test_metavars_name_the_thing() -> None:
    """A value has a name in capitals, such as FOLDER or SECONDS, and no name of a type."""
    for path, param in parameters("option") + parameters("argument"):
        assert param.help, (path, param.name)
        kind = str(param.type_descriptor.annotation)
        if kind.startswith(("<class 'bool'>", "bool", "<enum 'Scale'>", "<enum 'Accept'>")):
            continue
        assert param.metavar, (path, param.name)
        words = set(re.findall(r"[A-Z]+", param.metavar.replace("KEY.PATH", "KEY")))
        assert words or param.metavar == "nodes|sink", (path, param.metavar)
        assert (
            not {"INTEGER", "FLOAT", "TEXT", "PATH", "STRING", "WHAT"} & words or path == "bentpipe lab api"
        )
    assert {use.metavar for use in USES["--out"]} == {"FILE", "FOLDER"}


@pytest.mark.parametrize(
    ("command", "old"), [(command, old) for command, olds in OPTIONS.items() for old in olds]
)
def test_the_old_name_of_an_option_is_refused_with_the_new_one(command: str, old: str) -> None:
    new = OPTIONS[command][old]
    for words in ([old], ["first", f"{old}=1", "second"], ["x", "--json", old]):
        done = commands.run(*command.split(), *words, "--", "true")
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr == f"bentpipe {command} {old} is now {new}\n"
    known = {use.command for use in USES[new.split()[0]]}
    assert f"bentpipe {command}" in known
    assert f"bentpipe {command}" not in {use.command for use in USES.get(old, [])}


def test_words_of_another_program_are_not_options() -> None:
    done = commands.run("run", "no-such-preset", "--", "true", "--report", "x")
    assert "is now" not in done.stderr and "no-such-preset" in done.stderr
