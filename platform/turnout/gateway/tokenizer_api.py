"""What can be asked of a model's tokenizer: the fields and their types, which are vLLM's. Pure."""

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from turnout.gateway.api import FilledList, Flag, List, Message, NaturalInt


class _OfOneModel(BaseModel):
    model_config = ConfigDict(extra="allow")

    model: Annotated[str, Field(strict=True)] = Field(
        description="A model's name or alias; not `auto`, for every model has its own tokenizer."
    )


class Tokenize(_OfOneModel):
    """`POST /tokenize`: the token ids of a text or of a chat, template included."""

    prompt: Annotated[str, Field(strict=True)] | None = Field(default=None, description="A text.")
    messages: FilledList[Message] | None = Field(default=None, description="Or a chat.")
    tools: List[dict[str, Any]] | None = Field(default=None, description="The chat's tools.")
    add_special_tokens: Flag | None = Field(default=None, description="With BOS and the like.")
    add_generation_prompt: Flag | None = Field(
        default=None, description="With the beginning of the assistant's turn."
    )
    continue_final_message: Flag | None = Field(
        default=None, description="Leaves the chat's last message open."
    )
    return_token_strs: Flag | None = Field(default=None, description="Tell each token's text too.")

    @model_validator(mode="after")
    def _has_one(self) -> "Tokenize":
        if (self.prompt is None) == (self.messages is None):
            raise ValueError("send either prompt or messages")
        return self


class Detokenize(_OfOneModel):
    """`POST /detokenize`: the text of token ids."""

    tokens: List[NaturalInt] = Field(description="Token ids.")
