from __future__ import annotations

from collections.abc import Callable

import pytest

from turnout_load.errors import BadData
from turnout_load.workload.csv_trace import AZURE, BURSTGPT, read
from turnout_load.workload.source import Source
from turnout_load.workload.text import Prose

AZURE_HEADER = "TIMESTAMP,ContextTokens,GeneratedTokens"
# The first rows of the public trace of conversations.
AZURE_ROWS = (
    "2023-11-16 18:15:46.6805900,374,44",
    "2023-11-16 18:15:50.9951690,396,109",
    "2023-11-16 18:15:51.2224670,879,55",
)
BURSTGPT_HEADER = "Timestamp,Model,Request tokens,Response tokens,Total tokens,Log Type"


def azure(path: str) -> Source:
    return read(path, AZURE, Prose(), 1)


def lengths(source: Source) -> list[tuple[int, int | None]]:
    turns = [source.dataset.conversation(i).turns[0] for i in range(source.size or 0)]
    return [(len(turn.messages[0]["content"].split()), turn.max_tokens) for turn in turns]


def test_azure_times_keep_their_seven_decimals(write: Callable[..., str]) -> None:
    source = azure(write("azure.csv", AZURE_HEADER, *AZURE_ROWS, end="\r\n"))
    assert list(source.offsets_ns or ()) == [0, 4_314_579_000, 4_541_877_000]
    assert lengths(source) == [(374, 44), (396, 109), (879, 55)]
    assert (source.problems, source.notes) == ((), ())


def test_azure_times_of_the_week_long_traces_are_read_too(write: Callable[..., str]) -> None:
    rows = ("2024-05-12 23:59:59.999000+00:00,5,6", "2024-05-13 00:00:01+00:00,7,8")
    source = azure(write("azure.csv", AZURE_HEADER, *rows))
    assert list(source.offsets_ns or ()) == [0, 1_001_000_000]


def test_texts_are_as_long_as_the_trace_says_and_never_the_same(write: Callable[..., str]) -> None:
    same = "2023-11-16 18:15:46.6805900,300,44"
    source = azure(write("azure.csv", AZURE_HEADER, same, same))
    texts = [source.dataset.conversation(i).turns[0].messages[0]["content"] for i in range(4)]
    assert {len(text.split(" ")) for text in texts} == {300}
    assert len(set(texts)) == 4


def test_rows_out_of_order_are_sent_in_order(write: Callable[..., str]) -> None:
    source = azure(write("azure.csv", AZURE_HEADER, *AZURE_ROWS[::-1]))
    assert list(source.offsets_ns or ()) == [0, 4_314_579_000, 4_541_877_000]
    assert lengths(source) == [(374, 44), (396, 109), (879, 55)]


def test_burstgpt_counts_seconds_and_failed_requests_are_left_out(
    write: Callable[..., str],
) -> None:
    path = write(
        "BurstGPT_1.csv",
        BURSTGPT_HEADER,
        "5,ChatGPT,472,18,490,Conversation log",
        "45,ChatGPT,1087,230,1317,Conversation log",
        "110,ChatGPT,0,0,0,Conversation log",
        "118.5,GPT-4,417,276,693,API log",
    )
    source = read(path, BURSTGPT, Prose(), 1)
    assert list(source.offsets_ns or ()) == [0, 40_000_000_000, 113_500_000_000]
    assert lengths(source) == [(472, 18), (1087, 230), (417, 276)]
    assert source.notes == (f"{path}: requests without output tokens (they failed): 1 left out",)


def test_columns_are_found_by_their_names(write: Callable[..., str]) -> None:
    header = "Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens"
    path = write("BurstGPT_3.csv", header, "7,s1,0.5,GPT-4,10,20")
    assert lengths(read(path, BURSTGPT, Prose(), 1)) == [(10, 20)]


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("2023-11-16 18:15:50", "it has 1 columns, the header has 3"),
        ("16.11.2023 18:15,396,109", "time '16.11.2023 18:15': expected such as 2023-11-16"),
        ("2023-13-16 18:15:50,396,109", "month must be in 1..12"),
        ("2023-11-16 18:15:50,many,109", "ContextTokens 'many': expected a number of tokens"),
        ("2023-11-16 18:15:50,0,109", "ContextTokens '0': expected"),
        ("2023-11-16 18:15:50,396,1e3", "GeneratedTokens '1e3': expected"),
        ('"2023-11-16 18:15:50,396,109', "it has 1 columns"),
    ],
)
def test_a_broken_row_is_named_and_the_others_are_replayed(
    write: Callable[..., str], row: str, problem: str
) -> None:
    path = write("azure.csv", AZURE_HEADER, AZURE_ROWS[0], row, AZURE_ROWS[1])
    source = azure(path)
    (named,) = source.problems
    assert str(named).startswith(f"{path}:3: {problem}")
    assert lengths(source) == [(374, 44), (396, 109)]


@pytest.mark.parametrize("time", ["soon", "nan", "-3", "1e300"])
def test_seconds_that_are_none_are_named(write: Callable[..., str], time: str) -> None:
    rows = ("5,GPT-4,1,2,3,API log", f"{time},GPT-4,1,2,3,API log")
    source = read(write("b.csv", BURSTGPT_HEADER, *rows), BURSTGPT, Prose(), 1)
    assert [f":3: time '{time}'" in str(named) for named in source.problems] == [True]


def test_a_file_with_another_header_is_refused(write: Callable[..., str]) -> None:
    with pytest.raises(BadData, match=r"azure.csv:1: expected a header with TIMESTAMP,Con.*no 'T"):
        azure(write("azure.csv", *AZURE_ROWS))


def test_a_trace_of_failed_requests_alone_is_refused(write: Callable[..., str]) -> None:
    with pytest.raises(BadData, match="holds nothing to send"):
        azure(write("azure.csv", AZURE_HEADER, "2023-11-16 18:15:50,5,0"))
