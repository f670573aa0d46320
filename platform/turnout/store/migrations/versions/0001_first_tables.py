"""The first tables: teams, keys, usage, capacity, and the audit log that only grows."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_TEAM_MODELS = "Names of the models it may use; null is every model."
_LIMITS = "turnout.access.caller.Limits."
_KEY_NAME = "What it is for, in its owner's words."
_SECRET_HASH = "SHA-256 of the whole key, hex."
_REPLICA_S = "Seconds of ready replicas, summed up."
_BUSY_S = "Of these with a request running; null where nobody told."
_COST = "What these cost, idle or not."
_BEFORE = "Canonical JSON, secrets left out; null where it was new."
_HASH = "SHA-256 over the row and previous_hash."

_SQLITE_GUARD = """
CREATE TRIGGER audit_no_{act} BEFORE {act} ON audit
BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END
"""
_POSTGRESQL_GUARD = (
    """
    CREATE FUNCTION refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'the audit log is append-only'; END $$
    """,
    """
    CREATE TRIGGER audit_append_only BEFORE UPDATE OR DELETE OR TRUNCATE ON audit
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_audit_change()
    """,
)


def upgrade() -> None:
    """Makes the tables."""
    _access()
    _usage()
    _capacity()
    _audit()


def downgrade() -> None:
    """Drops the tables, and all they hold."""
    for table in ("audit", "capacity", "usage", "keys", "teams"):
        op.drop_table(table)
    if op.get_bind().dialect.name == "postgresql":
        op.execute("DROP FUNCTION refuse_audit_change()")


def _access() -> None:
    op.create_table(
        "teams",
        sa.Column("name", sa.String(128), primary_key=True),
        sa.Column("models", sa.JSON, comment=_TEAM_MODELS),
        sa.Column("limits", sa.JSON, nullable=False, comment=_LIMITS),
        sa.Column("created_at_s", sa.Float, nullable=False),
    )
    op.create_table(
        "keys",
        sa.Column("id", sa.String(32), primary_key=True, comment="The public part of the key."),
        sa.Column("team", sa.String(128), sa.ForeignKey("teams.name"), nullable=False),
        sa.Column("name", sa.String(128), nullable=False, comment=_KEY_NAME),
        sa.Column("secret_hash", sa.String(64), nullable=False, comment=_SECRET_HASH),
        sa.Column("scopes", sa.JSON, nullable=False),
        sa.Column("models", sa.JSON, comment="Null is every model of the team."),
        sa.Column("limits", sa.JSON, nullable=False),
        sa.Column("created_at_s", sa.Float, nullable=False),
        sa.Column("expires_at_s", sa.Float),
        sa.Column("revoked_at_s", sa.Float),
        sa.Column("replaced_by", sa.String(32), comment="The key it was rotated to."),
    )
    op.create_index("ix_keys_team", "keys", ["team"])


def _usage() -> None:
    op.create_table(
        "usage",
        sa.Column("id", sa.String(64), primary_key=True),
        sa.Column("at_s", sa.Float, nullable=False),
        sa.Column("team", sa.String(128), nullable=False),
        sa.Column("key_id", sa.String(32), nullable=False),
        sa.Column("endpoint", sa.String(32), nullable=False),
        sa.Column("model", sa.String(128), nullable=False),
        sa.Column("market", sa.String(16), nullable=False),
        sa.Column("status", sa.Integer, nullable=False),
        sa.Column("prompt_tokens", sa.BigInteger, nullable=False),
        sa.Column("cached_tokens", sa.BigInteger, nullable=False),
        sa.Column("completion_tokens", sa.BigInteger, nullable=False),
        sa.Column("queue_s", sa.Float, nullable=False),
        sa.Column("ttft_s", sa.Float),
        sa.Column("itl_s", sa.Float),
        sa.Column("e2e_s", sa.Float, nullable=False),
        sa.Column("list_cost_usd", sa.Float, nullable=False),
        sa.Column("attempts", sa.Integer, nullable=False),
    )
    op.create_index("ix_usage_at_s", "usage", ["at_s"])
    op.create_index("usage_by_team", "usage", ["team", "at_s"])
    op.create_index("usage_by_key", "usage", ["key_id", "at_s"])


def _capacity() -> None:
    op.create_table(
        "capacity",
        sa.Column("hour_s", sa.BigInteger, primary_key=True, comment="Start of the hour, UTC."),
        sa.Column("model", sa.String(128), primary_key=True),
        sa.Column("market", sa.String(16), primary_key=True),
        sa.Column("replica_s", sa.Float, nullable=False, comment=_REPLICA_S),
        sa.Column("busy_s", sa.Float, comment=_BUSY_S),
        sa.Column("cost_usd", sa.Float, nullable=False, comment=_COST),
    )


def _audit() -> None:
    sequence = sa.BigInteger().with_variant(sa.Integer, "sqlite")
    op.create_table(
        "audit",
        sa.Column("sequence", sequence, primary_key=True, autoincrement=False),
        sa.Column("at_s", sa.Float, nullable=False),
        sa.Column("actor", sa.String(128), nullable=False),
        sa.Column("act", sa.String(64), nullable=False),
        sa.Column("subject", sa.String(128), nullable=False),
        sa.Column("before", sa.Text, comment=_BEFORE),
        sa.Column("after", sa.Text),
        sa.Column("previous_hash", sa.String(64), nullable=False),
        sa.Column("hash", sa.String(64), nullable=False, comment=_HASH),
    )
    if op.get_bind().dialect.name == "postgresql":
        for statement in _POSTGRESQL_GUARD:
            op.execute(statement)
        return
    for act in ("UPDATE", "DELETE"):
        op.execute(_SQLITE_GUARD.format(act=act))
