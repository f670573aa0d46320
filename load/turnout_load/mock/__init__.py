"""An honest fake: an OpenAI-compatible server whose times are known, and told at `GET /truth`."""
