"""Files and batches: OpenAI's offline API, worked off in the capacity that is idle."""
