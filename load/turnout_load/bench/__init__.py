"""The project's own benchmarks: each one a command that writes its result as JSON."""
