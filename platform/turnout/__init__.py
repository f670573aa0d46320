"""Turnout: several LLMs behind one URL. Nothing here imports Ray Serve."""
