"""The first process of a guest. It loads the engine without the rest of the package, to start
quickly."""

from importlib.machinery import ExtensionFileLoader
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

if __name__ == "__main__":
    # The guest starts this file through a link.
    (file,) = Path(__file__).resolve().parent.parent.glob("_native*.so")
    spec = spec_from_file_location("_native", file, loader=ExtensionFileLoader("_native", str(file)))
    assert spec is not None and spec.loader is not None
    engine = module_from_spec(spec)
    spec.loader.exec_module(engine)
    engine.live_in_guest()
