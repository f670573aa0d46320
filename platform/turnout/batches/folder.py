"""Where the contents of files and the results of batches lie."""

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

UPLOAD_MOST_S = 86_400.0
"""Nothing is uploaded for longer: what is older was left by a process that died."""


class Folder:
    """`files/<id>` for contents, `uploads/` for what is not whole yet, `results/<batch>/`."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def contents(self, file_id: str) -> Path:
        """Returns where a file's contents lie."""
        return self._made("files") / file_id

    def upload(self, name: str) -> Path:
        """Returns where contents are written before `put` makes them a file's."""
        return self._made("uploads") / name

    def results(self, batch_id: str) -> Path:
        """Returns the folder of a batch's results, which is there."""
        return self._made("results", batch_id)

    def put(self, upload: Path, file_id: str) -> None:
        """Makes an upload a file's contents, which a power cut does not take back."""
        with upload.open("rb") as file:
            os.fsync(file.fileno())
        target = self.contents(file_id)
        upload.replace(target)
        descriptor = os.open(target.parent, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def remove(self, file_id: str) -> None:
        """Deletes a file's contents."""
        self.contents(file_id).unlink(missing_ok=True)

    def forget(self, batch_id: str) -> None:
        """Deletes a batch's results."""
        shutil.rmtree(self._root / "results" / batch_id, ignore_errors=True)

    def old_files(self) -> list[str]:
        """Returns the ids of contents that are there for long enough to have a row by now."""
        return [path.name for path in _older(self._made("files"))]

    def old_results(self) -> list[str]:
        """Returns the batches whose results lie here."""
        return [path.name for path in self._made("results").iterdir()]

    def drop_old_uploads(self) -> None:
        """Deletes what uploads left that never ended."""
        for path in _older(self._made("uploads")):
            path.unlink(missing_ok=True)

    def _made(self, *parts: str) -> Path:
        path = self._root.joinpath(*parts)
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        return path


def _older(folder: Path) -> Iterator[Path]:
    until = time.time() - UPLOAD_MOST_S
    return (path for path in folder.iterdir() if path.stat().st_mtime < until)
