"""Which replica gets a request: pure functions of what a gateway knows of its replicas."""
