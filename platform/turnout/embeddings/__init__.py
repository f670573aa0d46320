"""Embedding models: their vectors, batches of what waits, and the API of one replica."""
