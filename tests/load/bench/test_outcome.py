"""The page of results is made of the files beside it."""

from pathlib import Path

from turnout_load.bench.outcome import Outcome, page, save, section

RESULTS = Path(__file__).parents[3] / "docs/results"


def test_the_page_of_results_is_current() -> None:
    assert (RESULTS / "README.md").read_text() == page(RESULTS)


def test_an_outcome_is_a_table_with_its_command(tmp_path: Path) -> None:
    outcome = Outcome(
        title="T",
        question="Q?",
        command="make bench-t",
        environment={"commit": "abc", "cpus": 2, "cpu_model": "X"},
        columns=["way", "n"],
        rows=[["a", 1234], ["b", 0.123456], ["c", None]],
        notes=["one"],
    )
    save(outcome, tmp_path / "t.json")
    assert section(outcome).splitlines() == [
        "## T",
        "",
        "Q?",
        "",
        "| way | n |",
        "| --- | ---: |",
        "| a | 1,234 |",
        "| b | 0.1235 |",
        "| c | - |",
        "",
        "- one",
        "",
        "`make bench-t` at abc, 2 CPUs (X).",
    ]
    assert page(tmp_path).endswith(section(outcome))
