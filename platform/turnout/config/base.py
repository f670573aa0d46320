"""What all settings have in common."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._:/-]*$", max_length=128)]


class Settings(BaseModel):
    """Base of all settings: immutable, and a key nobody knows is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")
