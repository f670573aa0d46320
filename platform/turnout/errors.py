"""The root of the platform's errors; each package has its own tree below it."""


class TurnoutError(Exception):
    """Anything the platform can tell its user in a sentence."""
