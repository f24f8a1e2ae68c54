"""The loads of a matrix: downloads of a size, and a page with its objects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Load:
    """A load. ``sizes`` are the bytes of its streams: the first is requested alone, and when it has
    arrived, all others are requested together, as the objects of a page."""

    sizes: tuple[int, ...]

    @property
    def bytes(self) -> int:
        """The bytes of all streams."""
        return sum(self.sizes)

    @property
    def argument(self) -> str:
        """The sizes in the command of a client."""
        return ",".join(map(str, self.sizes))


#: Bytes of the document of a page and of each object, and the number of objects.
_OBJECT: Final = 40_000
_OBJECTS: Final = 30

#: The loads by name. 100 MB is the load of picoquic's tests.
LOADS: Final = {
    "1 MiB": Load((1 << 20,)),
    "10 MiB": Load((10 << 20,)),
    "100 MB": Load((100_000_000,)),
    "page": Load((_OBJECT,) * (1 + _OBJECTS)),
}
