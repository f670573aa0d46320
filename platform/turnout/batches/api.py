"""The requests and objects of files and batches: fields and types. Pure."""

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

MOST_LABELS, MOST_KEY, MOST_VALUE = 16, 64, 512


def _short(labels: dict[str, str]) -> dict[str, str]:
    if len(labels) > MOST_LABELS:
        raise ValueError(f"at most {MOST_LABELS} pairs")
    if any(len(key) > MOST_KEY or len(value) > MOST_VALUE for key, value in labels.items()):
        raise ValueError(f"keys of {MOST_KEY} and values of {MOST_VALUE} characters at most")
    return labels


Labels = Annotated[dict[str, str], AfterValidator(_short)]


class CreateBatch(BaseModel):
    """`POST /v1/batches`: requests of a file, answered within a day."""

    model_config = ConfigDict(extra="allow", strict=True)

    input_file_id: str = Field(
        pattern="^[A-Za-z0-9_-]{1,64}$", description="An uploaded file of JSON lines."
    )
    endpoint: str = Field(
        max_length=64, description="Where all of its lines go, such as /v1/chat/completions."
    )
    completion_window: Literal["24h"] = Field(description="Always `24h`.")
    metadata: Labels | None = Field(default=None, description="Up to 16 pairs of your own.")


class FileObject(BaseModel):
    """A file."""

    id: str
    object: Literal["file"]
    bytes: int
    created_at: int
    expires_at: int
    filename: str
    purpose: Literal["batch", "batch_output"]
    status: Literal["processed"]


class RequestCounts(BaseModel):
    """How many lines a batch has, and what became of them."""

    total: int
    completed: int
    failed: int


class BatchObject(BaseModel):
    """A batch."""

    id: str
    object: Literal["batch"]
    endpoint: str
    errors: dict[str, Any] | None
    input_file_id: str
    completion_window: Literal["24h"]
    status: str
    output_file_id: str | None
    error_file_id: str | None
    created_at: int
    expires_at: int
    request_counts: RequestCounts
    metadata: dict[str, str] | None
