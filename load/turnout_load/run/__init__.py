"""Runs: the sending loop of one process, the processes of a run, and what they tell meanwhile."""
