"""A second reader of wispr's formats, written from docs/spec/ alone. It shares no code with core/."""


class Refused(Exception):
    """A check failed; `code` is the error code that the specification names."""

    def __init__(self, code):
        super().__init__(code)
        self.code = code
