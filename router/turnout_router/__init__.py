"""Turnout's router: judges a request's difficulty and length and picks the model to answer."""
