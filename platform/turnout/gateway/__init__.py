"""The gateway: one OpenAI-compatible URL in front of every model. Plain Python; knows no Ray."""
