"""The refusal of a request."""


class Refused(Exception):  # noqa: N818 - an answer, not a fault
    """A refused request, with the status of its answer."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
