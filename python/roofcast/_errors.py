"""What roofcast raises and warns of."""

from __future__ import annotations

from typing import Optional


class Error(ValueError):
    """Bad input, with a message that a user can act on. Each field is None where it does not apply.

    what: what is wrong.
    file, line: where, for input from a file.
    key: the keyword of the function, or the key of the file.
    found, expected: the offending value as written, and what would be accepted.
    suggestion: a likely fix, such as the nearest known name.
    """

    def __init__(self, message: str, what: Optional[str] = None, file: Optional[str] = None, line: Optional[int] = None,
                 key: Optional[str] = None, found: Optional[str] = None, expected: Optional[str] = None,
                 suggestion: Optional[str] = None) -> None:
        super().__init__(message)
        self.what = what or message
        self.file = file
        self.line = line
        self.key = key
        self.found = found
        self.expected = expected
        self.suggestion = suggestion

    def __reduce__(self):
        return type(self), (str(self), self.what, self.file, self.line, self.key, self.found, self.expected, self.suggestion)


class NoAnswer(Error):
    """The question is sound and has no answer: the model does not fit, or no row is usable."""


class Note(UserWarning):
    """What roofcast chose for the user, such as one of several GPUs of a name."""
