"""Alembic's migrations: `env.py` runs them, `versions` holds one file per change."""
