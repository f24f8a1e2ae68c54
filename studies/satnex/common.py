"""What the VOTOS tests share: offsets in the super-frame, and a progress bar."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from bentpipe.jobs import Progress

#: A super-frame of Skyplex DATA with N = 6, M = 8, L = 8 on the low-rate channel.
SUPERFRAME_S: Final = 0.8204
#: Propagation one way.
ONE_WAY_S: Final = 0.25


def offsets_s(count: int, first_s: float) -> list[float]:
    """Moments from ``first_s`` on that divide a super-frame evenly."""
    return [round(first_s + SUPERFRAME_S * number / count, 6) for number in range(count)]


@contextmanager
def bar(test: str, *, shown: bool) -> Iterator[Progress]:
    """A progress bar on stderr, where that is a terminal."""
    from rich.console import Console
    from rich.progress import Progress as Bar

    console = Console(stderr=True)
    with Bar(console=console, disable=not (shown and console.is_terminal), transient=True) as shown_bar:
        task = shown_bar.add_task(f"simulating {test}", total=1.0)
        yield lambda fraction: shown_bar.update(task, completed=fraction)
