"""Measures OpenAI-compatible servers; knows the product only by its HTTP surface."""
