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


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"num_attention_heads": 0}, "'num_attention_heads' should be a positive whole number"),
        ({"num_key_value_heads": "2"}, "'num_key_value_heads'.*not '2'"),
        ({"max_position_embeddings": True}, "'max_position_embeddings'"),
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
