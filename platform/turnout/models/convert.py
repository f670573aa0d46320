"""Turns a GGUF file into a bfloat16 model folder; runs as a process of its own.

`python -m turnout.models.convert FILE FOLDER` gives its memory back when it ends and keeps torch
and transformers out of the other processes. It ends when its parent closes its stdin. Nothing else
imports this module.
"""

import json
import os
import shutil
import sys
import threading
from errno import ENOSPC
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import gguf
import torch
import transformers
from safetensors.torch import save_file
from tokenizers import pre_tokenizers
from transformers.modeling_gguf_pytorch_utils import load_gguf_checkpoint

# Texts that end a turn or a document, as llama.cpp lists them: a GGUF names only one end token.
END_TOKENS = (
    "<|im_end|>",
    "<|endoftext|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|end|>",
    "<|end_of_text|>",
    "<end_of_turn>",
    "</s>",
)
_VERSIONS = ("gguf", "safetensors", "tokenizers", "torch", "transformers")


def convert(gguf_file: Path, folder: Path) -> None:
    """Write config, weights, tokenizer, generation config and origin into an empty folder."""
    config, tensors = _load(gguf_file)
    tokenizer = _tokenizer(gguf_file, config.max_position_embeddings)
    _write_weights(tensors, folder / "model.safetensors")
    config.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    _generation_config(tokenizer).save_pretrained(folder)
    origin = {
        "license": _metadata(gguf_file, "general.license"),
        "versions": {name: version(name) for name in _VERSIONS},
    }
    (folder / "origin.json").write_text(json.dumps(origin), encoding="utf-8")


def _load(gguf_file: Path) -> tuple[Any, dict[str, torch.Tensor]]:
    """Dequantize one tensor at a time into the names and the order that transformers uses."""
    auto: Any = transformers.AutoModelForCausalLM
    config = transformers.AutoConfig.from_pretrained(gguf_file.parent, gguf_file=gguf_file.name)
    with torch.device("meta"):
        skeleton = auto.from_config(config, dtype=torch.bfloat16)
    load: Any = load_gguf_checkpoint
    loaded = load(
        gguf_file, return_tensors=True, model_to_load=skeleton, torch_dtype=torch.bfloat16
    )
    tensors: dict[str, torch.Tensor] = loaded["tensors"]
    missing = sorted(
        set(skeleton.state_dict()) - set(tensors) - set(skeleton.all_tied_weights_keys)
    )
    if missing:
        raise ValueError(f"the file lacks the weights {', '.join(missing[:5])}")
    config.architectures = [type(skeleton).__name__]
    config.dtype = torch.bfloat16
    return config, tensors


def _write_weights(tensors: dict[str, torch.Tensor], path: Path) -> None:
    needed = sum(tensor.nbytes for tensor in tensors.values())
    if shutil.disk_usage(path.parent).free < needed:
        raise OSError(ENOSPC, os.strerror(ENOSPC), str(path))
    save_file(tensors, path, metadata={"format": "pt"})
    path.chmod(0o644)  # safetensors makes it readable for its owner alone


def _tokenizer(gguf_file: Path, max_tokens: int) -> Any:
    tokenizer: Any = transformers.AutoTokenizer.from_pretrained(
        gguf_file.parent, gguf_file=gguf_file.name
    )
    tokenizer.model_max_length = max_tokens
    if _metadata(gguf_file, "tokenizer.ggml.pre") == "smollm":
        # transformers does not know this one; without it blanks before a digit join wrongly
        tokenizer.backend_tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
            [
                pre_tokenizers.Digits(individual_digits=True),
                pre_tokenizers.ByteLevel(add_prefix_space=False),
            ]
        )
    return tokenizer


def _generation_config(tokenizer: Any) -> Any:
    """Every token that ends a turn or a document; an engine stops at these alone."""
    added = tokenizer.get_added_vocab()
    own = [] if tokenizer.eos_token_id is None else [tokenizer.eos_token_id]
    ends = own + [added[text] for text in END_TOKENS if text in added]
    generation: Any = transformers.GenerationConfig
    return generation(
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=list(dict.fromkeys(ends)),
        pad_token_id=tokenizer.pad_token_id,
    )


def _metadata(gguf_file: Path, key: str) -> object:
    field = gguf.GGUFReader(gguf_file).get_field(key)
    return None if field is None else field.contents()


def _end_with_parent() -> None:
    while os.read(sys.stdin.fileno(), 4096):
        pass
    os._exit(1)


def main() -> None:
    """Convert the file named first on the command line into the folder named second."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    # transformers opens the file three times and builds the name map per module: most of the time
    for name in ("GGUFReader", "get_tensor_name_map"):
        setattr(gguf, name, cache(getattr(gguf, name)))
    convert(Path(sys.argv[1]), Path(sys.argv[2]))


if __name__ == "__main__":
    main()
