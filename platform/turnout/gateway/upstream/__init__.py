"""Models that other OpenAI-compatible servers answer: each looks like one replica from inside."""
