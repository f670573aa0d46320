"""APIs other than OpenAI's chat and completions, each translated to chat and back."""
