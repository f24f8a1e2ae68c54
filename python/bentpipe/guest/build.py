"""Build of a kernel. Each step leaves its results on disk, so an interrupted build resumes where it
stopped."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from . import recipe, source, store
from .store import Kernel

#: Called with the completed fraction and the current step. Returning False ends the build.
Progress = Callable[[float, str], bool]

#: Approximate number of lines about compiled and linked files that make prints in a full build.
STEPS: Final = 1350
#: Fraction of the build time before the first of the lines counted by :data:`STEPS`.
BEFORE: Final = 0.08


class BuildStopped(Exception):  # noqa: N818 - it is no error
    """The caller stopped the build."""


def build(
    progress: Progress | None = None, jobs: int | None = None, file: str | Path | None = None
) -> Kernel:
    """Builds the kernel for this machine, or returns the existing kernel. ``file`` is a package or
    archive of the source, by default the distribution's package.

    ``jobs`` compilers run at a time, by default one per processor. Raises ``OSError`` with the
    missing requirement or the compiler's message, :class:`bentpipe.InputError` for an unsupported
    source, and :class:`BuildStopped` when ``progress`` returned False. The next call resumes the
    build.
    """
    tell = progress or (lambda _fraction, _doing: True)
    how = recipe.here()
    if not file and (kernel := store.fitting()):
        return kernel
    folder = store.place()
    folder.mkdir(parents=True, exist_ok=True)
    with _build_lock(folder / "lock", tell):
        if not file and (kernel := store.fitting()):
            return kernel
        began = time.monotonic()
        _report(tell, 0.0, "looking for tools and the kernel's source")
        source.need_tools()
        found = source.find(folder / "package", Path(file) if file else None)
        if kernel := store.fitting(package=found.package):
            shutil.rmtree(folder / "package", ignore_errors=True)
            return kernel
        work = folder / f"unfinished-{how.hash}"
        tree = _unpacked(found, work, tell)
        version = _output(["make", "-s", "kernelversion"], tree).strip()
        adjustments = how.apply(tree)
        _configured(how, tree, tell)
        _compiled(tree, jobs or os.cpu_count() or 1, tell)
        done = folder / f"{version}-{how.hash}"
        shutil.rmtree(done, ignore_errors=True)
        done.mkdir()
        shutil.copy2(tree / "linux", done / store.BINARY)
        shutil.copy2(tree / ".config", done / store.CONFIGURATION)
        kernel = store.keep(
            done,
            {
                "version": version,
                "package": found.package,
                "configuration": how.hash,
                "adjustments": adjustments,
                "parameters": recipe.parameters(tree),
                "built": datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
                "seconds": round(time.monotonic() - began, 1),
            },
        )
        shutil.rmtree(work)
        shutil.rmtree(folder / "package", ignore_errors=True)
        _report(tell, 1.0, "done")
        return kernel


def _report(tell: Progress, fraction: float, doing: str) -> None:
    if not tell(fraction, doing):
        raise BuildStopped


@contextmanager
def _build_lock(lock: Path, tell: Progress) -> Iterator[None]:
    """Context manager that excludes other builds. Waits until another build ends or ``tell``
    returns False."""
    with lock.open("w") as file:
        while True:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                _report(tell, 0.0, "waiting for another process that builds this kernel")
                time.sleep(0.1)
        yield


def _unpacked(found: source.Source, work: Path, tell: Progress) -> Path:
    """Returns the source's folder, unpacked. A mark file shows that it is complete."""
    mark = work / "unpacked"
    if not mark.is_file() or mark.read_text(encoding="utf-8") != found.package:
        _report(tell, 0.01, "unpacking the kernel's source")
        shutil.rmtree(work, ignore_errors=True)
        work.mkdir()
        _run(
            ["tar", "-xf", str(found.archive)],
            work,
            work / "unpacking.log",
            tell,
            0.01,
            "unpacking the kernel's source",
        )
        mark.write_text(found.package, encoding="utf-8")
    return next(path for path in sorted(work.iterdir()) if path.is_dir())


def _configured(how: recipe.Recipe, tree: Path, tell: Progress) -> None:
    _report(tell, 0.06, "configuring")
    made = tree / ".config.bentpipe"
    if (
        made.is_file()
        and (tree / ".config").is_file()
        and made.read_text(encoding="utf-8") == how.configuration
    ):
        return
    log = tree / "configuration.log"
    _run([*_MAKE, "defconfig"], tree, log, tell, 0.06, "configuring")
    with (tree / ".config").open("a", encoding="utf-8") as file:
        file.write(how.configuration)
    _run([*_MAKE, "olddefconfig"], tree, log, tell, 0.06, "configuring")
    if lines := recipe.missing(how.configuration, (tree / ".config").read_text(encoding="utf-8")):
        raise OSError(
            f"this kernel does not accept these lines of {recipe.FRAGMENT.name}: {', '.join(lines)}"
        )
    made.write_text(how.configuration, encoding="utf-8")


_MAKE: Final = ("make", "ARCH=um")

#: Environment that makes the binary independent of the user and the time of the build.
_SAME: Final = {
    "KBUILD_BUILD_TIMESTAMP": "Thu Jan  1 00:00:00 UTC 1970",
    "KBUILD_BUILD_USER": "bentpipe",
    "KBUILD_BUILD_HOST": "bentpipe",
    "LC_ALL": "C",
}


def _environment() -> dict[str, str]:
    kept = {
        name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS", "KBUILD"))
    }
    return kept | _SAME


def _compiled(tree: Path, jobs: int, tell: Progress) -> None:
    log = tree / "build.log"
    step = re.compile(r"^\s+(CC|AS|AR|LD|HOSTCC|HOSTLD|GEN|LINK)\s")
    command = [*_MAKE, f"-j{jobs}", "linux"]
    earlier = sum(1 for path in tree.rglob("*.o"))
    with (
        log.open("w", encoding="utf-8") as file,
        subprocess.Popen(
            command,
            cwd=tree,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=file,
            text=True,
            process_group=0,
        ) as process,
    ):
        assert process.stdout is not None
        count = earlier
        try:
            for line in process.stdout:
                file.write(line)
                count += bool(step.match(line))
                fraction = BEFORE + (1 - BEFORE) * min(count / STEPS, 0.99)
                _report(tell, fraction, f"compiling, {count} of about {STEPS} files")
        except BaseException:
            os.killpg(process.pid, signal.SIGTERM)
            raise
    if process.returncode:
        raise OSError(f"the kernel could not be compiled; {log} says why:\n{_complaint(log)}")


def _complaint(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    wrong = [line for line in lines if "error" in line.lower() or line.startswith("make")]
    return "\n".join((wrong or lines)[-5:])


def _run(command: list[str], folder: Path, log: Path, tell: Progress, fraction: float, doing: str) -> None:
    """Runs one step, shielded from Ctrl-C, which ends the step through ``tell``."""
    with (
        log.open("a", encoding="utf-8") as file,
        subprocess.Popen(
            command,
            cwd=folder,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            process_group=0,
        ) as process,
    ):
        while process.poll() is None:
            if not tell(fraction, doing):
                os.killpg(process.pid, signal.SIGTERM)
                raise BuildStopped
            time.sleep(0.1)
    if process.returncode:
        raise OSError(f"{' '.join(command)} failed; {log} says why:\n{_complaint(log)}")


def _output(command: list[str], tree: Path) -> str:
    done = subprocess.run(
        command, cwd=tree, env=_environment(), capture_output=True, text=True, process_group=0, check=False
    )
    if done.returncode:
        raise OSError(f"{' '.join(command)}: {done.stderr.strip()}")
    return done.stdout
