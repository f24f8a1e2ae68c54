"""The web process: the REST interface under /api, one stream of events per browser tab, and the
built page at /."""

from .application import application

__all__ = ["application"]
