"""Turns a GGUF file into a bfloat16 model folder; runs as a process of its own.

`python -m turnout.models.convert FILE FOLDER` gives its memory back when it ends, and keeps torch
and transformers out of the command line's start. It ends when its parent closes its stdin.
"""

import os
import shutil
import sys
import threading
from errno import ENOSPC
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

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


def convert(gguf_file: Path, folder: Path) -> None:
    """Write config, weights, tokenizer and generation config into an existing empty folder."""
    config, tensors = _load(gguf_file)
    tokenizer = _tokenizer(gguf_file, config)
    _write_weights(tensors, folder / "model.safetensors")
    config.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    _generation_config(tokenizer).save_pretrained(folder)


def _load(gguf_file: Path) -> tuple[Any, dict[str, Any]]:
    """Dequantize one tensor at a time into the names and order transformers uses."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM
    from transformers.modeling_gguf_pytorch_utils import load_gguf_checkpoint

    config = AutoConfig.from_pretrained(gguf_file.parent, gguf_file=gguf_file.name)
    with torch.device("meta"):
        skeleton = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
    tensors = load_gguf_checkpoint(
        gguf_file, return_tensors=True, model_to_load=skeleton, torch_dtype=torch.bfloat16
    )["tensors"]
    tied = set(getattr(skeleton, "all_tied_weights_keys", {}))
    missing = sorted(set(skeleton.state_dict()) - set(tensors) - tied)
    if missing:
        raise ValueError(f"the file lacks the weights {', '.join(missing[:5])}")
    config.architectures = [type(skeleton).__name__]
    config.dtype = torch.bfloat16
    return config, tensors


def _write_weights(tensors: dict[str, Any], path: Path) -> None:
    from safetensors.torch import save_file

    needed = sum(tensor.nbytes for tensor in tensors.values())
    if shutil.disk_usage(path.parent).free < needed:
        raise OSError(ENOSPC, os.strerror(ENOSPC), str(path))
    save_file(tensors, path, metadata={"format": "pt"})


def _tokenizer(gguf_file: Path, config: Any) -> "PreTrainedTokenizerBase":
    from transformers import AutoTokenizer

    tokenizer: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(
        gguf_file.parent, gguf_file=gguf_file.name
    )
    tokenizer.model_max_length = config.max_position_embeddings
    return tokenizer


def _generation_config(tokenizer: "PreTrainedTokenizerBase") -> Any:
    """Every token that ends a turn; vLLM stops at these and at no others."""
    from transformers import GenerationConfig

    vocabulary = tokenizer.get_vocab()
    special = set(tokenizer.all_special_tokens) | set(tokenizer.get_added_vocab())
    ends = [vocabulary[text] for text in END_TOKENS if text in vocabulary and text in special]
    first = [tokenizer.eos_token_id] if tokenizer.eos_token_id is not None else []
    return GenerationConfig(
        bos_token_id=tokenizer.bos_token_id,
        eos_token_id=list(dict.fromkeys(first + ends)),
        pad_token_id=tokenizer.pad_token_id,
    )


def _end_with_parent() -> None:
    while os.read(sys.stdin.fileno(), 4096):
        pass
    os._exit(1)


def main() -> None:
    """Convert the file named first on the command line into the folder named second."""
    os.environ["HF_HUB_OFFLINE"] = "1"
    threading.Thread(target=_end_with_parent, daemon=True).start()
    convert(Path(sys.argv[1]), Path(sys.argv[2]))


if __name__ == "__main__":
    main()
