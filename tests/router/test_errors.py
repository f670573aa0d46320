import inspect
import pickle

import pytest

from turnout_router import errors

EXAMPLES = [
    errors.NothingCapable(["tools", "vision"], ["vision"]),
    errors.NothingFits(9000, 100, 8192),
    errors.NothingReady(["small", "large"]),
    errors.ArtifactMissing("a/static.json"),
    errors.ArtifactVersionUnknown("a/static.json", 7, 1),
    errors.ArtifactTampered("a/static.json", "sha256"),
    errors.EncoderMissing("minilm", "here", "pip install x"),
    errors.EncoderChanged("static", "a"),
    errors.OutcomesInvalid("a.csv", "has no column 'weak'"),
]


def test_every_error_has_an_example_here() -> None:
    leaves = {
        cls
        for _, cls in inspect.getmembers(errors, inspect.isclass)
        if issubclass(cls, errors.RouterError) and not cls.__subclasses__()
    }
    assert leaves == {type(example) for example in EXAMPLES}


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda error: type(error).__name__)
def test_errors_survive_pickling_with_their_values(error: errors.RouterError) -> None:
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is type(error)
    assert vars(copy) == vars(error)
    assert str(copy) == str(error)


def test_nothing_fits_says_what_was_asked_and_what_there_is() -> None:
    message = str(errors.NothingFits(9000, 100, 8192))
    assert "9000" in message
    assert "100" in message
    assert "8192" in message
