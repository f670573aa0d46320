"""The layout's guards: a package named `platform` would replace the standard library's."""

import platform
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE_ROOTS = ("platform", "deployments", "router", "load")


@pytest.mark.parametrize("root", SOURCE_ROOTS)
def test_no_python_file_lies_directly_in_a_source_root(root: str) -> None:
    assert list((ROOT / root).glob("*.py")) == []


def test_no_test_folder_is_a_package() -> None:
    assert list((ROOT / "tests").rglob("__init__.py")) == []


def test_the_standard_librarys_platform_is_still_itself() -> None:
    code = "import platform; print(platform.system())"
    told = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert told.stdout.strip() == platform.system() == "Linux"


def test_every_package_says_that_it_is_typed() -> None:
    packages = [next((ROOT / root).glob("turnout*/__init__.py")).parent for root in SOURCE_ROOTS]
    assert [package.name for package in packages if not (package / "py.typed").exists()] == []


def test_locks_agree_where_they_name_the_same_distribution() -> None:
    """The two are installed together: one version each."""
    cpu, gpu, dev = (_pins(ROOT / "requirements" / f"{name}.txt") for name in ("cpu", "gpu", "dev"))
    for profile in (cpu, gpu):
        common = profile.keys() & dev.keys()
        assert {name: dev[name] for name in common} == {name: profile[name] for name in common}
    assert cpu["ray"] == gpu["ray"] == "2.60.0"


def test_a_machine_the_locks_are_not_for_is_refused_with_a_sentence() -> None:
    code = (
        "import sys; sys.path.insert(0, 'requirements'); from check_machine import problem;"
        "print(problem('Darwin', 'arm64', (3, 11))); print(problem('Linux', 'x86_64', (3, 10)));"
        "print([problem('Linux', 'x86_64', (3, minor)) for minor in (11, 12, 13)])"
    )
    told = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert told[0] == "the locks are for Linux x86-64; this is Darwin arm64"
    assert "Python 3.11 to 3.13; this is Python 3.10" in told[1]
    assert told[2] == "[None, None, None]"


def _pins(lock: Path) -> dict[str, str]:
    return dict(re.findall(r"^([a-z0-9_.-]+)==([^ \n]+)", lock.read_text(), re.MULTILINE))
