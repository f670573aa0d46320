from __future__ import annotations

import stat
from pathlib import Path

import pytest

from turnout.admin.errors import MalformedAdminKeys, NoAdminKey, OpenAdminKeyFile, WeakAdminKey
from turnout.admin.key import make_key_file, parse_keys, read_keys

KEY, OTHER = "k" * 32, "o" * 32


def test_a_lone_key_is_the_admins() -> None:
    keys = parse_keys(f"{KEY}\n")
    assert keys.actor(KEY) == "admin"
    assert keys.first == KEY


def test_named_keys_tell_who_acts() -> None:
    keys = parse_keys(f"alice {KEY}\n\nbob  {OTHER}\n")
    assert [keys.actor(key) for key in (KEY, OTHER)] == ["alice", "bob"]


@pytest.mark.parametrize("presented", [None, "", KEY[:-1], KEY + "k", "schlüssel" * 4])
def test_anything_but_the_key_is_nobodys(presented: str | None) -> None:
    assert parse_keys(KEY).actor(presented) is None


@pytest.mark.parametrize("key", ["short", "x" * 201])
def test_a_key_that_is_too_short_or_too_long_is_refused(key: str) -> None:
    with pytest.raises(WeakAdminKey, match="16 to 200 characters"):
        parse_keys(key)


@pytest.mark.parametrize("line", [f"a b {KEY}", f"-x {KEY}", f"{KEY}\n{OTHER}", "ключ" * 8])
def test_a_line_that_is_no_key_is_named_by_its_number_only(line: str) -> None:
    with pytest.raises(MalformedAdminKeys, match=r"line \d") as refused:
        parse_keys(line)
    assert KEY not in str(refused.value)


def test_no_key_at_all_is_refused() -> None:
    for text in ("", "\n \n"):
        with pytest.raises(NoAdminKey):
            parse_keys(text)
    with pytest.raises(NoAdminKey):
        read_keys({})


def test_the_environments_key_comes_before_its_file(tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text(OTHER)
    file.chmod(0o600)
    environ = {"TURNOUT_ADMIN_KEY_FILE": str(file)}
    assert read_keys(environ).first == OTHER
    assert read_keys({**environ, "TURNOUT_ADMIN_KEY": KEY}).first == KEY


@pytest.mark.parametrize("mode", [0o644, 0o604, 0o620, 0o666])
def test_a_key_file_that_others_can_read_or_change_is_refused(tmp_path: Path, mode: int) -> None:
    file = tmp_path / "key"
    file.write_text(KEY)
    file.chmod(mode)
    with pytest.raises(OpenAdminKeyFile, match=f"has mode {mode:o}"):
        read_keys({"TURNOUT_ADMIN_KEY_FILE": str(file)})


def test_a_made_key_file_is_its_owners_alone_and_made_once(tmp_path: Path) -> None:
    file = tmp_path / "key"
    make_key_file(file)
    made = read_keys({}, file).first
    make_key_file(file)
    assert read_keys({}, file).first == made
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert len(made) >= 64
