from pathlib import Path

import pytest

from turnout.models.errors import BadModelConfig
from turnout.models.facts import ModelFacts, facts_from_config, model_facts

# published config.json of Qwen2.5-0.5B-Instruct, what matters here
QWEN = {
    "architectures": ["Qwen2ForCausalLM"],
    "max_position_embeddings": 32768,
    "num_attention_heads": 14,
    "num_key_value_heads": 2,
}


def test_facts_are_read_from_a_published_config() -> None:
    assert facts_from_config(QWEN) == ModelFacts("Qwen2ForCausalLM", 14, 2, 32768)


def test_without_grouped_queries_each_head_has_its_own_keys() -> None:
    config = {key: value for key, value in QWEN.items() if key != "num_key_value_heads"}
    assert facts_from_config(config).kv_heads == 14
    assert facts_from_config({**QWEN, "num_key_value_heads": None}).kv_heads == 14


def test_a_multimodal_config_keeps_its_numbers_in_text_config() -> None:
    config = {"architectures": ["Gemma3ForConditionalGeneration"], "text_config": QWEN}
    assert facts_from_config(config) == ModelFacts("Gemma3ForConditionalGeneration", 14, 2, 32768)


YARN = {"factor": 4.0, "original_max_position_embeddings": 32768}
DEEPSEEK = {"type": "yarn", "factor": 40, "original_max_position_embeddings": 4096}
LLAMA3 = {"rope_type": "llama3", "factor": 8.0, "original_max_position_embeddings": 8192}


@pytest.mark.parametrize(
    ("stated", "scaling", "window"),
    [
        pytest.param(32768, {"type": "yarn", **YARN}, 131072, id="Qwen2.5 with YaRN"),
        pytest.param(40960, {"rope_type": "yarn", **YARN}, 131072, id="Qwen3 with YaRN"),
        pytest.param(163840, DEEPSEEK, 163840, id="DeepSeek V3"),
        pytest.param(131072, LLAMA3, 131072, id="Llama 3.1"),
        pytest.param(131072, {"type": "longrope"}, 131072, id="Phi 3.5"),
        pytest.param(4096, {"type": "linear", "factor": 4.0}, 16384, id="Vicuna 16k"),
        pytest.param(32768, {"type": "dynamic", "factor": 2.0}, 65536, id="dynamic"),
        pytest.param(32768, {"type": "yarn", "factor": 4.0}, 131072, id="YaRN without original"),
        pytest.param(32768, {"type": "mrope", "mrope_section": [16, 24]}, 32768, id="Qwen2-VL"),
        pytest.param(32768, {"type": "linear", "factor": None}, 32768, id="no factor"),
        pytest.param(32768, None, 32768, id="no scaling"),
    ],
)
def test_the_window_is_stretched_as_vllm_stretches_it(
    stated: int, scaling: dict[str, object] | None, window: int
) -> None:
    """Windows from the models' cards; where there is none, from a run of vLLM 0.29's rule."""
    config = {**QWEN, "max_position_embeddings": stated}
    for key in ("rope_scaling", "rope_parameters"):
        assert facts_from_config({**config, key: scaling}).max_context == window


def test_layers_of_two_kinds_share_one_stretched_window() -> None:
    # OLMo 3's numbers as transformers 5 writes them
    yarn = {"rope_type": "yarn", "factor": 8.0, "original_max_position_embeddings": 8192}
    ropes = {"full_attention": yarn, "sliding_attention": {"rope_type": "default"}}
    assert facts_from_config({**QWEN, "rope_parameters": ropes}).max_context == 65536


def test_gemma3_states_its_window_stretched_already() -> None:
    text = {
        **QWEN,
        "model_type": "gemma3_text",
        "max_position_embeddings": 131072,
        "rope_scaling": {"rope_type": "linear", "factor": 8.0},
    }
    config = {"architectures": ["Gemma3ForConditionalGeneration"], "text_config": text}
    assert facts_from_config(config).max_context == 131072


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"num_attention_heads": 0}, "'num_attention_heads' should be a positive whole number"),
        ({"num_key_value_heads": "2"}, "'num_key_value_heads'.*not '2'"),
        ({"max_position_embeddings": True}, "'max_position_embeddings'"),
        ({"rope_scaling": {"type": "linear", "factor": "4"}}, "'factor'.*not '4'"),
        ({"rope_scaling": {"type": "linear", "factor": 1e308}}, "'factor'.*not 1e\\+308"),
        ({"architectures": []}, "LlamaForCausalLM"),
    ],
)
def test_a_missing_or_wrong_fact_is_named(change: dict[str, object], problem: str) -> None:
    with pytest.raises(ValueError, match=problem):
        facts_from_config({**QWEN, **change})


def test_a_folders_config_is_read(model_folder: Path) -> None:
    assert model_facts(model_folder) == ModelFacts("LlamaForCausalLM", 4, 4, 128)


@pytest.mark.parametrize("content", ["", "[]", "{"])
def test_a_broken_config_file_is_named_in_the_error(tmp_path: Path, content: str) -> None:
    (tmp_path / "config.json").write_text(content)
    with pytest.raises(BadModelConfig, match=r"config\.json: "):
        model_facts(tmp_path)


def test_a_folder_without_config_is_named_in_the_error(tmp_path: Path) -> None:
    with pytest.raises(BadModelConfig, match="No such file"):
        model_facts(tmp_path)
