"""What can go wrong in the router, one class per thing that can happen.

RouterError
├── DecisionError           no served model can take the request
│   ├── NothingCapable      a capability is missing everywhere
│   ├── NothingFits         the request is beyond every window
│   └── NothingReady        models would fit, none is ready
├── ArtifactError           the trained artifact can't be used
│   ├── ArtifactMissing
│   ├── ArtifactVersionUnknown
│   └── ArtifactTampered
├── EncoderMissing          the sentence encoder's files are not installed
├── EncoderChanged          the encoder is not the one the artifact was trained with
└── OutcomesInvalid         a training file is not what it should be

All of them survive pickling (Ray pickles them).
"""

from collections.abc import Sequence


class RouterError(Exception):
    """The root of the router's errors."""


class DecisionError(RouterError):
    """No served model can take the request."""


class NothingCapable(DecisionError):
    """No model offers all the capabilities that the request needs."""

    def __init__(self, needed: Sequence[str], missing: Sequence[str]) -> None:
        super().__init__(needed, missing)
        self.needed = tuple(needed)
        self.missing = tuple(missing)

    def __str__(self) -> str:
        if self.missing:
            return f"no served model offers {', '.join(self.missing)}"
        return f"no single served model offers all of {', '.join(self.needed)}"


class NothingFits(DecisionError):
    """The prompt, or the prompt with its max_tokens, is beyond every capable model's window."""

    def __init__(self, prompt_tokens: int, max_tokens: int | None, largest_window: int) -> None:
        super().__init__(prompt_tokens, max_tokens, largest_window)
        self.prompt_tokens = prompt_tokens
        self.max_tokens = max_tokens
        self.largest_window = largest_window

    @property
    def prompt_fits(self) -> bool:
        """Whether the prompt alone would fit, with less asked for."""
        return self.prompt_tokens < self.largest_window

    def __str__(self) -> str:
        asked = f" and max_tokens asks for {self.max_tokens}" if self.max_tokens else ""
        return (
            f"the prompt has {self.prompt_tokens} tokens{asked}, "
            f"but the largest context window is {self.largest_window} tokens"
        )


class NothingReady(DecisionError):
    """Models that could answer exist, but none of them has a ready replica."""

    def __init__(self, models: Sequence[str]) -> None:
        super().__init__(models)
        self.models = tuple(models)

    def __str__(self) -> str:
        names = ", ".join(self.models) or "none is served"
        return f"no model that could answer has a ready replica ({names})"


class ArtifactError(RouterError):
    """A trained artifact can't be used."""


class ArtifactMissing(ArtifactError):
    """There is no artifact for the encoder at the given place."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path

    def __str__(self) -> str:
        return f"no router artifact at {self.path}: make one with `turnout-router train`"


class ArtifactVersionUnknown(ArtifactError):
    """The artifact was written in a format that this release does not read."""

    def __init__(self, path: str, found: object, expected: int) -> None:
        super().__init__(path, found, expected)
        self.path = path
        self.found = found
        self.expected = expected

    def __str__(self) -> str:
        return (
            f"router artifact {self.path} has format version {self.found!r}, this release reads "
            f"{self.expected}: train it again with `turnout-router train`"
        )


class ArtifactTampered(ArtifactError):
    """The artifact's files do not agree with each other."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(path, problem)
        self.path = path
        self.problem = problem

    def __str__(self) -> str:
        return f"router artifact {self.path} is damaged ({self.problem}): install or train it again"


class EncoderMissing(RouterError):
    """The sentence encoder's files are not installed."""

    def __init__(self, encoder: str, looked_in: str, remedy: str) -> None:
        super().__init__(encoder, looked_in, remedy)
        self.encoder = encoder
        self.looked_in = looked_in
        self.remedy = remedy

    def __str__(self) -> str:
        return f"the {self.encoder!r} encoder's files are not in {self.looked_in}: {self.remedy}"


class EncoderChanged(RouterError):
    """The installed encoder gives other vectors than the one the artifact was trained with."""

    def __init__(self, encoder: str, artifact: str) -> None:
        super().__init__(encoder, artifact)
        self.encoder = encoder
        self.artifact = artifact

    def __str__(self) -> str:
        return (
            f"the installed {self.encoder!r} encoder gives other vectors than the one the artifact "
            f"in {self.artifact} was trained with: install the pinned version or train again"
        )


class OutcomesInvalid(RouterError):
    """A file of outcomes does not hold what training needs."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(path, problem)
        self.path = path
        self.problem = problem

    def __str__(self) -> str:
        return f"{self.path}: {self.problem}"
