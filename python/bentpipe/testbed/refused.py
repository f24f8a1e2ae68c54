"""The refusal of a request."""


class Refused(Exception):  # noqa: N818 - an answer, not a fault
    """A request that is refused, with the status of its answer."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status
