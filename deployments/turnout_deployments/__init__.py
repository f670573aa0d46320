"""Wires the platform onto Ray Serve: the only package that imports Ray Serve's classes."""
