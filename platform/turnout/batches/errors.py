"""What is answered about files and batches that cannot be, in OpenAI's shape.

RequestError
├── 400               BadUpload
├── 404               BatchesNotKept · NoSuchFile · NoSuchBatch
├── 409               FileInUse · BatchOver
├── 413               StorageFull
├── 429               TooManyBatches
└── Unavailable 503   BatchesUnavailable
"""

from turnout.gateway.errors import RequestError, Unavailable


class BadUpload(RequestError):
    """The upload is no form with a file."""

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem

    def __str__(self) -> str:
        return (
            f"the upload cannot be read: {self.problem}; send multipart/form-data with 'purpose' "
            "and 'file'"
        )


class BatchesNotKept(RequestError):
    """This gateway has no files and batches."""

    status = 404
    code = "batches_not_kept"

    def __str__(self) -> str:
        return "this gateway has no files and batches: its settings turn them off"


class NoSuchFile(RequestError):
    """The caller's team has no such file."""

    status = 404
    code = "file_not_found"
    param = "file_id"

    def __init__(self, file_id: str) -> None:
        super().__init__(file_id)
        self.file_id = file_id

    def __str__(self) -> str:
        return f"no such file: '{self.file_id}'"


class NoSuchBatch(RequestError):
    """The caller's team has no such batch."""

    status = 404
    code = "batch_not_found"
    param = "batch_id"

    def __init__(self, batch_id: str) -> None:
        super().__init__(batch_id)
        self.batch_id = batch_id

    def __str__(self) -> str:
        return f"no such batch: '{self.batch_id}'"


class FileInUse(RequestError):
    """A batch still reads the file."""

    status = 409
    code = "file_in_use"

    def __init__(self, file_id: str, batch_id: str) -> None:
        super().__init__(file_id, batch_id)
        self.file_id, self.batch_id = file_id, batch_id

    def __str__(self) -> str:
        return f"file '{self.file_id}' is read by batch '{self.batch_id}': cancel that one first"


class BatchOver(RequestError):
    """The batch is too far to be cancelled."""

    status = 409
    code = "batch_not_cancellable"

    def __init__(self, batch_id: str, batch_status: str) -> None:
        super().__init__(batch_id, batch_status)
        self.batch_id, self.batch_status = batch_id, batch_status

    def __str__(self) -> str:
        return f"batch '{self.batch_id}' is {self.batch_status}: there is nothing to cancel"


class StorageFull(RequestError):
    """The team keeps as many bytes as it may."""

    status = 413
    code = "storage_full"

    def __init__(self, most_bytes: int) -> None:
        super().__init__(most_bytes)
        self.most_bytes = most_bytes

    def __str__(self) -> str:
        return f"a team may keep files of {self.most_bytes} bytes here: delete some first"


class TooManyBatches(RequestError):
    """The team has as many unfinished batches as it may."""

    status = 429
    code = "too_many_batches"

    def __init__(self, most: int) -> None:
        super().__init__(most)
        self.most = most
        self.headers = {"retry-after": "60"}

    def __str__(self) -> str:
        return f"a team may have {self.most} unfinished batches: wait for one to end"


class BatchesUnavailable(Unavailable):
    """The database or the folder of files cannot be used now."""

    code = "batches_unavailable"
