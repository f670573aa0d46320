"""`python -m turnout_load.mock '{"ttft_ms": 20}'`: the mock with its settings as JSON."""

from __future__ import annotations

import sys

import msgspec

from turnout_load.errors import LoadError
from turnout_load.mock.server import run
from turnout_load.mock.settings import MockSettings


def main(text: str) -> None:
    """Serves, or says in one line why not."""
    try:
        run(msgspec.json.decode(text, type=MockSettings))
    except msgspec.DecodeError as wrong:
        sys.exit(f"settings {text!r}: {wrong}")
    except LoadError as refused:
        sys.exit(str(refused))


if __name__ == "__main__":
    main(sys.argv[1] if sys.argv[1:] else "{}")
