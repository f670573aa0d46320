from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from turnout_router.errors import DecisionError, NothingCapable, NothingFits, NothingReady
from turnout_router.policy import Candidate, Need, RouterSettings, decide, header_safe

TWO = RouterSettings(tiers=("small", "large"), good_enough={"small": 0.6})
THREE = RouterSettings(
    tiers=("small", "medium", "large"), good_enough={"small": 0.7, "medium": 0.4}
)
CHAT = frozenset({"chat"})


def model(
    name: str,
    window: int = 8192,
    capabilities: Iterable[str] = CHAT,
    is_ready: bool = True,
    tier: str | None = None,
) -> Candidate:
    return Candidate(name, tier or name, window, frozenset(capabilities), is_ready)


def need(prompt: int = 10, max_tokens: int | None = 64, capabilities: Iterable[str] = CHAT) -> Need:
    return Need(prompt, max_tokens, frozenset(capabilities))


SMALL, LARGE = model("small", 2048), model("large")


@pytest.mark.parametrize(
    ("difficulty", "picked", "because"),
    [
        (0.83, "small", "easy p=0.83>=0.60"),
        (0.6, "small", "easy p=0.60>=0.60"),
        (0.598, "large", "hard p=0.59<0.60"),
        (0.31, "large", "hard p=0.31<0.60"),
        (float("nan"), "large", "hard p=nan<0.60"),
        (None, "small", "cheapest that fits"),
    ],
)
def test_difficulty_picks_the_cheapest_tier_that_is_good_enough(
    difficulty: float | None, picked: str, because: str
) -> None:
    decision = decide(need(), [LARGE, SMALL], difficulty, TWO)
    assert (decision.model, decision.because) == (picked, because)
    assert decision.rejected == ()


@pytest.mark.parametrize(
    ("difficulty", "because"),
    [
        (0.8, "easy p=0.80>=0.70"),
        (0.5, "middling p=0.50<0.70>=0.40"),
        (0.2, "hard p=0.20<0.40"),
    ],
)
def test_three_tiers_part_at_two_thresholds(difficulty: float | None, because: str) -> None:
    models = [model("small"), model("medium"), model("large")]
    assert decide(need(), models, difficulty, THREE).because == because


def test_long_prompts_go_to_the_model_whose_window_holds_them() -> None:
    decision = decide(need(2300), [SMALL, LARGE], 0.9, TWO)
    assert decision.model == "large"
    assert decision.because == "prompt 2300+64 tokens > small window 2048"
    assert [rejection.model for rejection in decision.rejected] == ["small"]


def test_a_window_filled_to_the_last_token_fits() -> None:
    assert decide(need(2048 - 64), [SMALL, LARGE], 0.9, TWO).model == "small"
    assert decide(need(2048 - 63), [SMALL, LARGE], 0.9, TWO).model == "large"


def test_a_request_without_max_tokens_prefers_a_window_with_room_for_an_answer() -> None:
    request = need(2000, max_tokens=None)
    assert decide(request, [SMALL, LARGE], 0.9, TWO).model == "large"
    assert decide(request, [SMALL], 0.9, TWO).model == "small"


def test_a_request_without_max_tokens_needs_room_for_one_token() -> None:
    assert decide(need(2047, max_tokens=None), [SMALL], 0.9, TWO).model == "small"
    with pytest.raises(NothingFits):
        decide(need(2048, max_tokens=None), [SMALL], 0.9, TWO)


def test_a_prompt_beyond_every_window_is_refused_with_the_largest_one() -> None:
    with pytest.raises(NothingFits) as caught:
        decide(need(9000), [SMALL, LARGE], 0.9, TWO)
    assert caught.value.prompt_tokens == 9000
    assert caught.value.largest_window == 8192


def test_the_largest_window_is_that_of_a_capable_model() -> None:
    tools = model("small", 2048, {"chat", "tools"})
    with pytest.raises(NothingFits) as caught:
        decide(need(3000, capabilities={"tools"}), [tools, LARGE], 0.9, TWO)
    assert caught.value.largest_window == 2048


def test_needed_tools_outrank_an_easy_prompt() -> None:
    large = model("large", capabilities={"chat", "tools"})
    decision = decide(need(capabilities={"chat", "tools"}), [SMALL, large], 0.99, TWO)
    assert (decision.model, decision.because) == ("large", "needs tools")


def test_missing_capabilities_are_named() -> None:
    with pytest.raises(NothingCapable, match="vision") as caught:
        decide(need(capabilities={"chat", "vision"}), [SMALL, LARGE], 0.9, TWO)
    assert caught.value.missing == ("vision",)


def test_capabilities_spread_over_two_models_are_not_enough() -> None:
    models = [model("small", capabilities={"tools"}), model("large", capabilities={"vision"})]
    with pytest.raises(NothingCapable, match="all of tools, vision"):
        decide(need(capabilities={"tools", "vision"}), models, 0.9, TWO)


@pytest.mark.parametrize(("difficulty", "left"), [(0.9, "large"), (0.1, "small")])
def test_a_model_that_is_not_ready_is_skipped_and_the_reason_says_so(
    difficulty: float | None, left: str
) -> None:
    models = [model(name, is_ready=name == left) for name in ("small", "large")]
    decision = decide(need(), models, difficulty, TWO)
    assert (decision.model, decision.because) == (left, f"only {left} is ready")


def test_with_no_ready_model_that_fits_the_models_are_named() -> None:
    models = [model("small", 2048), model("large", is_ready=False)]
    with pytest.raises(NothingReady, match="large") as caught:
        decide(need(3000), models, 0.9, TWO)
    assert caught.value.models == ("large",)


def test_without_candidates_nothing_is_ready() -> None:
    with pytest.raises(NothingReady):
        decide(need(), [], 0.9, TWO)


def test_a_model_outside_the_routed_tiers_is_never_picked() -> None:
    assert decide(need(), [model("embedder"), LARGE], 0.9, TWO).model == "large"


def test_the_first_of_two_models_in_one_tier_is_picked() -> None:
    models = [model("large"), model("other", tier="large")]
    assert decide(need(), models, 0.1, TWO).model == "large"


def test_the_reason_is_fit_for_a_header() -> None:
    decision = decide(
        need(9000), [model("klein\r\nä", 100, tier="small"), model("large", 10**6)], 0.9, TWO
    )
    assert decision.because.isascii()
    assert decision.because.isprintable()
    assert header_safe("x" * 1000) == "x" * 120


@pytest.mark.parametrize(
    ("tiers", "good_enough", "message"),
    [
        (("small", "large"), {}, r"no threshold for \['small'\]"),
        (("small", "large"), {"small": 0.5, "large": 0.5}, "top tier 'large'"),
        (("small", "large"), {"small": 0.5, "smal": 0.5}, r"\['smal'\]"),
        (("small", "large"), {"small": 1.5}, "1.5"),
        (("small", "small"), {"small": 0.5}, "twice"),
        ((), {}, "at least 1"),
    ],
)
def test_thresholds_that_do_not_match_the_tiers_are_refused(
    tiers: tuple[str, ...], good_enough: dict[str, float], message: str
) -> None:
    with pytest.raises(ValidationError, match=message):
        RouterSettings(tiers=tiers, good_enough=good_enough)


def test_one_tier_needs_no_threshold() -> None:
    settings = RouterSettings(tiers=("large",))
    assert decide(need(), [LARGE], 0.1, settings).because == "only large is served"


TIERS = st.sampled_from(["small", "medium", "large", "unrouted"])
CAPABILITIES = st.frozensets(st.sampled_from(["chat", "tools", "vision"]))
CANDIDATES = st.lists(
    st.builds(
        Candidate, st.text(min_size=1), TIERS, st.integers(1, 4096), CAPABILITIES, st.booleans()
    ),
    unique_by=lambda candidate: candidate.name,
    max_size=6,
)
NEEDS = st.builds(Need, st.integers(0, 4096), st.none() | st.integers(1, 4096), CAPABILITIES)
DIFFICULTY = st.none() | st.floats(0, 1)


def possible(request: Need, candidate: Candidate) -> bool:
    return (
        candidate.is_ready
        and candidate.tier != "unrouted"
        and request.capabilities <= candidate.capabilities
        and request.prompt_tokens_at_most + (request.max_tokens or 1) <= candidate.context_window
    )


@given(NEEDS, CANDIDATES, DIFFICULTY)
def test_a_possible_model_is_picked_exactly_when_there_is_one(
    request: Need, candidates: list[Candidate], difficulty: float | None
) -> None:
    able = [c.name for c in candidates if possible(request, c)]
    if able:
        decision = decide(request, candidates, difficulty, THREE)
        assert decision.model in able
        assert decision.because
        assert decision.model not in {rejection.model for rejection in decision.rejected}
    else:
        with pytest.raises(DecisionError):
            decide(request, candidates, difficulty, THREE)


@given(NEEDS, CANDIDATES, st.floats(0, 1), st.floats(0, 1))
def test_a_harder_prompt_never_goes_to_a_cheaper_tier(
    request: Need, candidates: list[Candidate], one: float, other: float
) -> None:
    tier = {candidate.name: candidate.tier for candidate in candidates}
    easy, hard = max(one, other), min(one, other)
    try:
        picks = [decide(request, candidates, p, THREE).model for p in (easy, hard)]
    except DecisionError:
        return
    places = [THREE.tiers.index(tier[pick]) for pick in picks]
    assert places[0] <= places[1]
