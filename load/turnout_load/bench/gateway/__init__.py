"""Turnout's gateway beside other gateways, all before the same mock, each alone on one CPU core."""
