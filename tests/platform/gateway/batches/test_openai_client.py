"""Files and batches with OpenAI's own client."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.platform.gateway.batches.office import line
from tests.platform.gateway.fake_engine import WORDS, FakeEngine

if TYPE_CHECKING:
    from tests.platform.gateway.batches.office import Office


async def test_a_batch_is_answered_line_by_line(office: Office, small: FakeEngine) -> None:
    made = await office.create([line(f"q{n}") for n in range(10)])
    assert made.status == "validating"
    batch = await office.over(made.id)
    assert batch.status == "completed"
    assert batch.request_counts is not None
    assert batch.request_counts.model_dump() == {"total": 10, "completed": 10, "failed": 0}
    results = await office.lines_of(batch.output_file_id)
    assert sorted(each["custom_id"] for each in results) == sorted(f"q{n}" for n in range(10))
    for each in results:
        said = each["response"]["body"]["choices"][0]["message"]["content"]
        assert (said, each["response"]["status_code"], each["error"]) == ("".join(WORDS), 200, None)
    assert batch.error_file_id is None
