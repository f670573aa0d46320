from pathlib import Path

from turnout.config.explain import explain
from turnout.config.load import load

DEPLOYMENTS = Path(__file__).parents[3] / "deployments"


def test_explain_says_what_a_cluster_would_run() -> None:
    text = explain(load(DEPLOYMENTS / "multi-node.yaml"))
    for words in (
        "Gateway http://0.0.0.0:8000/v1",
        "small → large",
        "Model llama-70b (tier large, application llama-70b)",
        "spot: 0 to 3 replicas on nodes with ray.io/market-type=spot",
        "4 GPU, 17 CPU on H100",  # four workers of 1 GPU and 4 CPUs, and 1 CPU for the replica
        "4 workers: tensor parallel 4 x pipeline parallel 1, on one node",
        "$0.6 in, $0.8 out per million tokens",
        # 2 x 8B and 1 x 70B on four GPUs always; 6 and 3 more at most
        "at least        6 GPU, 27 CPU",
        "at most         24 GPU, 108 CPU",
    ):
        assert words in text


def test_explain_says_what_restarts_engines_and_what_does_not() -> None:
    text = explain(load(DEPLOYMENTS / "local.yaml"))
    assert "a model's args          that model's engines" in text
    assert "the gateway's settings  nothing" in text
    assert "weights and 0.5 GiB of KV cache" in text
    assert "2. hf://HuggingFaceTB/SmolLM2-135M-Instruct" in text


def test_a_gateway_without_a_router_offers_no_auto(tmp_path: Path, small_file: str) -> None:
    path = tmp_path / "no-router.yaml"
    path.write_text(
        small_file.replace("          router: {tiers: [low, high], good_enough: {low: 0.6}}\n", "")
    )
    assert "model 'auto'    off (no router settings)" in explain(load(path))
