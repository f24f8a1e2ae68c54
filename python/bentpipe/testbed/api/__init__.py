"""The web process: the page at /, the REST interface under /api, and one stream of events per
browser tab."""

from .application import application

__all__ = ["application"]
