"""What the tests of the checks share: where things stand in the valid file, and its problems."""

from turnout.config.check import check
from turnout.config.document import parse
from turnout.config.problems import Problem
from turnout.models.facts import ModelFacts

MODEL = "applications[0].deployments[0].user_config.models"
ROUTER = "applications[0].deployments[0].user_config.router"
TINY, HUGE = "applications[1].args", "applications[2].args"
# A model with 14 attention heads, 2 KV heads and a window of 32768 tokens.
FACTS = {"huge": ModelFacts("Qwen2ForCausalLM", 14, 2, 32768)}


def problems_of(text: str) -> tuple[Problem, ...]:
    """The problems of a file, with what is known of the model `huge`."""
    return check(parse(text), FACTS).problems


def only_problem(small_file: str, old: str, new: str) -> Problem:
    """The one problem that a change of one place in the valid file gives."""
    assert small_file.count(old) == 1, "the change must hit one place"
    problems = problems_of(small_file.replace(old, new))
    assert len(problems) == 1, problems
    return problems[0]
