"""The exception for refused requests."""


class Refused(Exception):  # noqa: N818 - an answer, not a fault
    """A refused request, with the HTTP status of the response."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
