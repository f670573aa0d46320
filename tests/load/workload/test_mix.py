from __future__ import annotations

from collections import Counter
from random import Random

import pytest

from turnout_load.errors import BadOption
from turnout_load.workload.mix import Group, mix


@pytest.mark.parametrize("text", ["search=0.7,batch@5=0.3", "search=7, batch@5=3"])
def test_groups_are_drawn_by_their_shares(text: str) -> None:
    rng, wanted = Random(3), mix(text)
    found = Counter(wanted.draw(rng) for _ in range(10_000))
    assert found.keys() == {Group("search", None), Group("batch", 5)}
    assert found[Group("batch", 5)] == pytest.approx(3_000, abs=4 * 46)


def test_a_priority_may_be_negative() -> None:
    assert mix("urgent@-3=1").groups == (Group("urgent", -3),)


@pytest.mark.parametrize("text", ["", "search", "search=", "search=-1", "a=0", "a@high=1", "a=1,"])
def test_a_text_that_says_no_shares_is_refused(text: str) -> None:
    with pytest.raises(BadOption, match=r"--mix '.*': expected team=share or team@priority=share"):
        mix(text)
