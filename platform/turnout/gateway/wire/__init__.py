"""HTTP/1.1 to replicas: one connection, and the pool of them (decision 0009)."""
