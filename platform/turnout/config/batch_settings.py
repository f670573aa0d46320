"""What the gateway does about files and batches: `user_config.batches`."""

from pydantic import BaseModel, ConfigDict, Field

MIB = 1024 * 1024


class BatchSettings(BaseModel):
    """Where files lie, how large they may be, and how much of a batch runs at once."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    folder: str | None = Field(
        default=None,
        pattern="^/",
        description=(
            "Folder of files' contents and batches' results, as an absolute path: `batches` in the "
            "state folder where it is left out. Several gateway replicas need one that all mount."
        ),
    )
    max_running_lines: int = Field(
        default=4,
        ge=1,
        strict=True,
        description="Lines of batches that one gateway replica has running at a time.",
    )
    max_file_bytes: int = Field(
        default=200 * MIB, ge=1, strict=True, description="Largest file that is taken, in bytes."
    )
    max_team_bytes: int = Field(
        default=10_240 * MIB,
        ge=1,
        strict=True,
        description="Bytes of files a team may keep; above it uploads are answered with 413.",
    )
    max_lines: int = Field(
        default=50_000, ge=1, strict=True, description="Most lines of one batch."
    )
    keep_files_s: float = Field(
        default=30 * 86_400.0,
        ge=3600,
        allow_inf_nan=False,
        description="Seconds after which a file is deleted, results included.",
    )
    lease_s: float = Field(
        default=15.0,
        ge=1,
        allow_inf_nan=False,
        description="Seconds after which a batch of a gateway that died goes on on another.",
    )
