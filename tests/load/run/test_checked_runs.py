"""Runs with a tokenizer: what the mock says of lengths beside what the tokenizer counts."""

import signal
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from tokenizers import Regex, Tokenizer, models, pre_tokenizers

from turnout_load.live import Snapshot
from turnout_load.run import processes
from turnout_load.run.processes import run_processes
from turnout_load.run.worker import Outcome
from turnout_load.spec import Spec, Target, Workload
from turnout_load.workload.words import WORDS


def spec(url: str, tokenizer: str | None, requests: int = 20, **target: Any) -> Spec:
    workload = Workload(
        rate=1000.0, input_tokens="fixed:16", output_tokens="fixed:8", tokenizer=tokenizer
    )
    where = replace(Target(url=url, model="m"), **target)
    return Spec(target=where, workload=workload, requests=requests)


def quiet(_: Snapshot) -> None:
    pass


def only(what: Spec) -> Outcome:
    [outcome], _ = run_processes(what, quiet)
    assert set(outcome.records.column("error")) == {""}
    return outcome


@pytest.mark.parametrize("target", [{}, {"stream": False}, {"endpoint": "completions"}])
def test_answers_and_prompts_of_words_have_as_many_tokens_as_the_mock_says(
    mock: str, by_word: str, target: dict[str, Any]
) -> None:
    lengths = only(spec(mock, by_word, **target)).lengths
    assert (lengths.output, lengths.prompt) == (((8, 8),) * 20, ((16, 16),) * 20)


def test_each_process_checks_its_first_256_answers(mock: str, by_word: str) -> None:
    outcomes, _ = run_processes(replace(spec(mock, by_word, 530), processes=2), quiet)
    assert [len(outcome.records) for outcome in outcomes] == [265, 265]
    assert [len(outcome.lengths.output) for outcome in outcomes] == [256, 256]


def test_a_run_without_a_tokenizer_checks_nothing(mock: str) -> None:
    lengths = only(spec(mock, None)).lengths
    assert (lengths.output, lengths.prompt) == ((), ())


def test_ctrl_c_while_tokens_are_counted_is_kept_for_what_comes_next(
    mock: str, by_word: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    count = processes._count

    def interrupted(*given: Any) -> list[Outcome]:
        signal.raise_signal(signal.SIGINT)
        return count(*given)

    monkeypatch.setattr(processes, "_count", interrupted)
    outcome = only(spec(mock, by_word))
    assert (len(outcome.records), len(outcome.lengths.output)) == (20, 20)
    assert outcome.was_stopped


def test_a_tokenizer_of_another_kind_counts_something_else(mock: str, tmp_path: Path) -> None:
    """Letter by letter, " the train takes a turnout onto another line" is 44 long."""
    tokenizer = Tokenizer(models.WordLevel(vocab={"?": 0}, unk_token="?"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated")
    tokenizer.save(path := str(tmp_path / "tokenizer.json"))
    assert set(only(spec(mock, path)).lengths.output) == {(8, 44)}


def test_a_tokenizer_that_fails_on_an_answer_leaves_a_note_and_the_run(
    mock: str, tmp_path: Path
) -> None:
    tokenizer = Tokenizer(models.WordLevel(vocab={word: n for n, word in enumerate(WORDS)}))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.save(path := str(tmp_path / "tokenizer.json"))
    outcome = only(spec(mock, path))
    assert len(outcome.records) == 20
    assert outcome.lengths.output == ()
    [note] = outcome.notes
    assert note.startswith(f"usage is not checked: {path}: cannot count a text's tokens")
