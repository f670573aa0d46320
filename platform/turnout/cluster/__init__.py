"""Starts, watches and stops the local Ray cluster that Turnout runs on."""
