"""Changes to the source of the guest's kernel are applied once, at one place, or refused by
name."""

from __future__ import annotations

from pathlib import Path

import pytest
from bentpipe.errors import InputError
from bentpipe.guest.change import FOLDER, Change, changes

CHANGE = """\
/*
 * the loop ends
 *
 * why:      An endless loop would
 *           never end.
 * only:     version.h lacks NEW
 * licence:  Dual MIT/GPL
 */

/*
 * file:     loop.c
 * replaces: for (;;) {
 *
 *           work();
 */
	for (i = 0; i < 3; i++) {
/*
 * A comment of the kernel's.
 */
		work();

/*
 * file:     old.h
 * file:     new.h
 * after:    #include <a.h>
 */
#include <b.h>
"""
LOOP = "int main(void)\n{\n\tfor (;;) {\n\n\t\twork();\n\t}\n}\n"


def read(
    folder: Path, text: str = CHANGE, suffix: str = ".c", state_bytes: int | None = None
) -> list[Change]:
    (folder / f"ending{suffix}").write_text(text)
    return list(changes(state_bytes, folder))


def source(folder: Path, **files: str) -> Path:
    tree = folder / "tree"
    tree.mkdir()
    for name, text in ({"loop": LOOP, "new": "#include <a.h>\n\nint a;\n"} | files).items():
        (tree / f"{name}.{'c' if name == 'loop' else 'h'}").write_text(text)
    return tree


def test_a_change_is_applied_once(tmp_path: Path) -> None:
    (change,) = read(tmp_path)
    tree = source(tmp_path)
    assert (change.name, change.title) == ("ending", "the loop ends")
    for _ in range(2):
        assert change.apply(tree)
        assert (tree / "loop.c").read_text() == (
            "int main(void)\n{\n\tfor (i = 0; i < 3; i++) {\n"
            "/*\n * A comment of the kernel's.\n */\n\t\twork();\n\t}\n}\n"
        )
        assert (tree / "new.h").read_text() == "#include <a.h>\n#include <b.h>\n\nint a;\n"


def test_a_build_that_was_interrupted_between_two_parts_is_completed(tmp_path: Path) -> None:
    (change,) = read(tmp_path)
    tree = source(tmp_path)
    change.parts[0].apply(tree, change.name)
    assert change.apply(tree)
    assert "b.h" in (tree / "new.h").read_text() and (tree / "loop.c").read_text().count("i < 3") == 1


@pytest.mark.parametrize(
    ("loop", "why"),
    [
        (LOOP.replace("for (;;)", "while (1)"), "is missing"),
        (LOOP + LOOP, "occurs 2 times"),
        (LOOP.replace("{\n\n", "{\n"), "is missing"),
    ],
)
def test_an_anchor_that_is_missing_or_occurs_twice_is_refused(tmp_path: Path, loop: str, why: str) -> None:
    (change,) = read(tmp_path)
    tree = source(tmp_path, loop=loop)
    with pytest.raises(
        InputError, match=f'^loop.c differs from the source that the change "ending" .* the anchor {why} '
    ):
        change.apply(tree)
    assert (tree / "loop.c").read_text() == loop


def test_a_change_whose_condition_does_not_hold_is_left_out(tmp_path: Path) -> None:
    (change,) = read(tmp_path)
    tree = source(tmp_path, version="NEW\n")
    assert not change.apply(tree)
    assert (tree / "loop.c").read_text() == LOOP
    larger = CHANGE.replace("version.h lacks NEW", "processor state above 100 bytes")
    assert [len(read(tmp_path, larger, state_bytes=size)) for size in (None, 100, 101)] == [0, 0, 1]


def test_the_size_of_the_processors_state_is_a_multiple_of_64(tmp_path: Path) -> None:
    text = CHANGE.replace("the loop ends", "BENTPIPE_STATE_BYTES bytes").replace(
        "< 3", "< BENTPIPE_STATE_BYTES"
    )
    (change,) = read(tmp_path, text, state_bytes=129)
    assert change.title == "192 bytes" and "i < 192;" in change.parts[0].text


def test_kconfig_has_comments_of_its_own(tmp_path: Path) -> None:
    text = (
        "# a tick\n#\n# why:   Short.\n\n# file:  Kconfig\n# after: config HZ\n#        int\n\tdefault 250\n"
    )
    (change,) = read(tmp_path, text, ".kconfig")
    tree = source(tmp_path)
    (tree / "Kconfig").write_text("config A\n\tint\n\nconfig HZ\n\tint\n")
    assert change.apply(tree)
    assert (tree / "Kconfig").read_text() == "config A\n\tint\n\nconfig HZ\n\tint\n\tdefault 250\n"


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        (" * why: ", " * reason: ", "unknown field: reason: "),
        ("lacks NEW", "without NEW", "unknown condition: only: version.h without NEW"),
        (" * after:    #include <a.h>\n", "", "one anchor"),
        ("/*\n * the", "// the", "begins with a comment"),
    ],
)
def test_a_file_that_is_no_change_is_refused(tmp_path: Path, before: str, after: str, why: str) -> None:
    assert before in CHANGE
    with pytest.raises(ValueError, match=f"ending.c: .*{why}"):
        read(tmp_path, CHANGE.replace(before, after))


def test_every_change_names_its_reason_and_its_licence() -> None:
    known = {change.name for change in changes(11008)}
    files = sorted(FOLDER.iterdir())
    assert {file.stem for file in files} == known and len(files) == len(known)
    for file in files:
        head = file.read_text().partition("file:")[0]
        assert "why: " in head and "licence:  Dual MIT/GPL\n" in head, file
