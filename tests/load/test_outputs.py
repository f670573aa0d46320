"""What was measured is on the disk before anything else can go wrong."""

from pathlib import Path

import pytest
from tests.load.made import FACTS

from turnout_load import outputs
from turnout_load.errors import BadData
from turnout_load.records import Records
from turnout_load.spec import Spec, Target
from turnout_load.summarize import summarize


def test_figures_and_requests_outlive_a_report_that_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> str:
        raise ZeroDivisionError

    monkeypatch.setattr(outputs, "run_page", fails)
    spec = Spec(target=Target(url="http://127.0.0.1:1/v1", model="m"))
    result = summarize(Records(), spec, FACTS)
    with pytest.raises(ZeroDivisionError):
        outputs.write_run(tmp_path, result, Records())
    assert {path.name for path in tmp_path.iterdir()} == {"result.json", "requests.csv"}


def test_a_folder_is_made_and_left_empty(tmp_path: Path) -> None:
    outputs.prepare(tmp_path / "a/b")
    assert list((tmp_path / "a/b").iterdir()) == []


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(BadData, match="cannot be written"):
        outputs.prepare(tmp_path / "file/folder")
