"""What can be asked for with POST, by path, and in whose words it is answered. Pure."""

from collections.abc import Mapping

from turnout.gateway.api import PATHS
from turnout.gateway.dialect import Dialect, OpenAI
from turnout.gateway.dialects.messages import COUNT_PATH, Messages
from turnout.gateway.dialects.messages import PATH as MESSAGES
from turnout.gateway.dialects.responses import PATH as RESPONSES
from turnout.gateway.dialects.responses import Responses
from turnout.gateway.tokenizer_pages import DETOKENIZE
from turnout.gateway.tokens import PATH as TOKENIZE

DIALECTS: Mapping[str, Dialect] = {
    **{path: OpenAI(endpoint) for endpoint, path in PATHS.items()},
    MESSAGES: Messages(),
    RESPONSES: Responses(),
}
"""What is generated."""
QUESTIONS: Mapping[str, Dialect] = {
    TOKENIZE: OpenAI("completions"),
    DETOKENIZE: OpenAI("completions"),
    COUNT_PATH: Messages(),
}
"""What a model's tokenizer is asked; of the dialects only the errors matter."""
