"""The errors of the library as exceptions: one class for each of its kinds."""


class Error(RuntimeError):
    """What the library refuses or fails at; the message is the library's."""


class InvalidInput(Error, ValueError):
    """A malformed or inconsistent argument, text or tensor."""


class Unsupported(Error, NotImplementedError):
    """Well-formed, but no kernel or device can do it."""


class NotFound(Error, LookupError):
    """A named thing (a kernel, a device, a schedule) does not exist."""


class ExecutionError(Error):
    """A kernel did something illegal while it ran."""


class HostError(Error, OSError):
    """The host failed: out of memory, a file, a driver."""


class InternalError(Error):
    """A bug of Hocket."""
