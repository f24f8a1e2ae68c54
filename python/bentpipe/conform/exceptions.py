"""Exceptions by which a case ends early with a verdict."""


class NotApplicable(Exception):  # noqa: N818 - it is a verdict
    """The transport cannot produce the situation that a case is about. The text is the reason."""


class Missing(Exception):  # noqa: N818 - it is a verdict
    """The control never entered a phase that a case requires. The text names the phase."""
