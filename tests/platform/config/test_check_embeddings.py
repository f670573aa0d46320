"""What a config file says of embedding models is checked as all else is."""

import pytest
from tests.platform.config.mistakes import MODEL, problems_of

from turnout.config.check import check
from turnout.config.document import parse
from turnout.config.explain import explain

OFFER = (
    "            vectors: {application: vectors, pools: [reserved], capabilities: [embeddings]}\n"
)
APPLICATION = """\
  - name: vectors
    route_prefix: null
    import_path: turnout_deployments.embedding:build
    args:
      model: vectors
      context_window: 256
      resources: {CPU: 0.2}
      pools: {reserved: {}}
    deployments:
      - {name: reserved, num_replicas: 2}
"""
ARGS = "applications[3].args"


@pytest.fixture
def with_embeddings(small_file: str) -> str:
    before, models, after = small_file.partition("          models:\n")
    return f"{before}{models}{OFFER}{after}{APPLICATION}"


def test_a_file_with_an_embedding_model_is_valid(with_embeddings: str) -> None:
    findings = check(parse(with_embeddings), {})
    assert findings.problems == ()
    assert not any("vectors" in note for note in findings.notes)
    assert findings.file is not None
    assert [app.name for app in findings.file.embeddings] == ["vectors"]


def test_it_is_explained(with_embeddings: str) -> None:
    file = check(parse(with_embeddings), {}).file
    assert file is not None
    told = explain(file)
    assert "Model vectors (application vectors)" in told
    assert "all-MiniLM-L6-v2, installed with Turnout" in told
    assert "0.2 CPU, batches of 32" in told
    # tiny: 0.5 and 1 CPU; huge: 2 GPUs and 1 CPU, up to 5 times; two of vectors: 0.4 CPU
    assert "at least        2.9 CPU, 2 GPU" in told
    assert "at most         6.9 CPU, 10 GPU" in told


@pytest.mark.parametrize(
    ("old", "new", "path", "message"),
    [
        (", capabilities: [embeddings]", ", tier: low", f"{MODEL}.vectors.capabilities", "only"),
        ("[embeddings]}", "[embeddings], tier: low}", f"{MODEL}.vectors", "tier 'low' is for"),
        ("[embeddings]}", "[embeddings], fallbacks: [t]}", f"{MODEL}.vectors", "do not compare"),
        ("[embeddings]}", "[chat]}", f"{MODEL}.vectors", "needs a tier"),
        ("context_window: 256", "context_window: 0", f"{ARGS}.context_window", "greater than 0"),
        (
            "resources: {CPU: 0.2}",
            "resources: {GPU: 1}",
            ARGS,
            "drop GPU from the resources or set device",
        ),
        ("resources: {CPU: 0.2}", "device: cuda\n      resources: {CPU: 1}", ARGS, "GPU: 1"),
        (
            "resources: {CPU: 0.2}",
            "sources: [x]\n      resources: {CPU: 1}",
            f"{ARGS}.sources",
            "did you mean 'source'",
        ),
        (
            "resources: {CPU: 0.2}",
            "resources: {CPU: 1}\n      http_port_range: [7999, 8000]",
            f"{ARGS}.http_port_range",
            "overlaps the ports of http_options.port",
        ),
        ("num_replicas: 2", "num_replicas: 2, ray_actor_options: {}", "", "args decide it"),
        ("embedding:build", "embeddings:build", "", "did you mean 'turnout_deployments.embedding"),
    ],
)
def test_a_mistake_is_named(
    with_embeddings: str, old: str, new: str, path: str, message: str
) -> None:
    assert with_embeddings.count(old) == 1
    problems = problems_of(with_embeddings.replace(old, new))
    found = [each for each in problems if message in each.message]
    assert found, problems
    assert path in ("", found[0].path)


def test_a_chat_model_without_a_tier_is_told_what_it_is(small_file: str) -> None:
    (problem,) = [
        each
        for each in problems_of(small_file.replace("tier: low, ", ""))
        if each.path == f"{MODEL}.tiny"
    ]
    assert "a model for chat and completions needs a tier" in problem.message
