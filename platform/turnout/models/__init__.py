"""Where models come from: sources, the cache of converted models, facts about a model."""
