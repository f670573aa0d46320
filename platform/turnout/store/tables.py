"""Every table. Times are seconds since 1970; JSON columns hold what only Turnout reads."""

from sqlalchemy import (
    JSON,
    BigInteger,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
)

metadata = MetaData()

teams = Table(
    "teams",
    metadata,
    Column("name", String(128), primary_key=True),
    Column("models", JSON, comment="Names of the models it may use; null is every model."),
    Column("limits", JSON, nullable=False, comment="turnout.access.caller.Limits."),
    Column("created_at_s", Float, nullable=False),
)

keys = Table(
    "keys",
    metadata,
    Column("id", String(32), primary_key=True, comment="The public part of the key."),
    Column("team", String(128), ForeignKey("teams.name"), nullable=False, index=True),
    Column("name", String(128), nullable=False, comment="What it is for, in its owner's words."),
    Column("secret_hash", String(64), nullable=False, comment="SHA-256 of the whole key, hex."),
    Column("scopes", JSON, nullable=False),
    Column("models", JSON, comment="Null is every model of the team."),
    Column("limits", JSON, nullable=False),
    Column("created_at_s", Float, nullable=False),
    Column("expires_at_s", Float),
    Column("revoked_at_s", Float),
    Column("replaced_by", String(32), comment="The key it was rotated to."),
)

usage = Table(
    "usage",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("at_s", Float, nullable=False, index=True),
    Column("team", String(128), nullable=False),
    Column("key_id", String(32), nullable=False),
    Column("endpoint", String(32), nullable=False),
    Column("model", String(128), nullable=False),
    Column("market", String(16), nullable=False),
    Column("status", Integer, nullable=False),
    Column("prompt_tokens", BigInteger, nullable=False),
    Column("cached_tokens", BigInteger, nullable=False),
    Column("completion_tokens", BigInteger, nullable=False),
    Column("queue_s", Float, nullable=False),
    Column("ttft_s", Float),
    Column("itl_s", Float),
    Column("e2e_s", Float, nullable=False),
    Column("list_cost_usd", Float, nullable=False),
    Column("attempts", Integer, nullable=False),
    Index("usage_by_team", "team", "at_s"),
    Index("usage_by_key", "key_id", "at_s"),
)

capacity = Table(
    "capacity",
    metadata,
    Column("hour_s", BigInteger, primary_key=True, comment="Start of the hour, UTC."),
    Column("model", String(128), primary_key=True),
    Column("market", String(16), primary_key=True),
    Column("replica_s", Float, nullable=False, comment="Seconds of ready replicas, summed up."),
    Column("busy_s", Float, comment="Of these with a request running; null where nobody told."),
    Column("cost_usd", Float, nullable=False, comment="What these cost, idle or not."),
)

files = Table(
    "files",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("team", String(128), nullable=False, comment="Whose it is; nobody else sees it."),
    Column("key_id", String(32), nullable=False, comment="The key that brought it."),
    Column("purpose", String(32), nullable=False),
    Column("filename", String(256), nullable=False),
    Column("bytes", BigInteger, nullable=False),
    Column("created_at_s", Float, nullable=False),
    Column("expires_at_s", Float, nullable=False, index=True),
    Index("files_by_team", "team", "created_at_s"),
)

batches = Table(
    "batches",
    metadata,
    Column("id", String(64), primary_key=True),
    Column("team", String(128), nullable=False),
    Column("key_id", String(32), nullable=False, comment="Who pays, as long as it is live."),
    Column("endpoint", String(64), nullable=False),
    Column("input_file_id", String(64), nullable=False, index=True),
    Column("labels", JSON, comment="The client's own metadata."),
    Column("status", String(16), nullable=False, index=True),
    Column("errors", JSON, comment="Why it failed: code, line, message, param of each."),
    Column("output_file_id", String(64)),
    Column("error_file_id", String(64)),
    Column("total", Integer, nullable=False, comment="Lines; known once it was validated."),
    Column("completed", Integer, nullable=False),
    Column("failed", Integer, nullable=False),
    Column("created_at_s", Float, nullable=False),
    Column("expires_at_s", Float, nullable=False),
    Column("in_progress_at_s", Float),
    Column("finalizing_at_s", Float),
    Column("completed_at_s", Float),
    Column("failed_at_s", Float),
    Column("expired_at_s", Float),
    Column("cancelling_at_s", Float),
    Column("cancelled_at_s", Float),
    Column("worker", String(64), comment="The gateway that works on it, while its lease lasts."),
    Column("lease_until_s", Float, nullable=False),
    Index("batches_by_team", "team", "created_at_s"),
)

audit = Table(
    "audit",
    metadata,
    Column(
        "sequence",
        BigInteger().with_variant(Integer, "sqlite"),
        primary_key=True,
        autoincrement=False,
    ),
    Column("at_s", Float, nullable=False),
    Column("actor", String(128), nullable=False),
    Column("act", String(64), nullable=False),
    Column("subject", String(128), nullable=False),
    Column("before", Text, comment="Canonical JSON, secrets left out; null where it was new."),
    Column("after", Text),
    Column("previous_hash", String(64), nullable=False),
    Column("hash", String(64), nullable=False, comment="SHA-256 over the row and previous_hash."),
)
