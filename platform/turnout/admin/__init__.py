"""The admin API, on a listener of its own, and the commands that call it."""
