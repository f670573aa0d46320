"""Files and batches."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_TEAM = "Whose it is; nobody else sees it."
_PAYS = "Who pays, as long as it is live."
_ERRORS = "Why it failed: code, line, message, param of each."
_TOTAL = "Lines; known once it was validated."
_WORKER = "The gateway that works on it, while its lease lasts."


def upgrade() -> None:
    """Makes the tables."""
    op.create_table(
        "files",
        sa.Column("id", sa.String(64), primary_key=True),
        sa.Column("team", sa.String(128), nullable=False, comment=_TEAM),
        sa.Column("key_id", sa.String(32), nullable=False, comment="The key that brought it."),
        sa.Column("purpose", sa.String(32), nullable=False),
        sa.Column("filename", sa.String(256), nullable=False),
        sa.Column("bytes", sa.BigInteger, nullable=False),
        sa.Column("created_at_s", sa.Float, nullable=False),
        sa.Column("expires_at_s", sa.Float, nullable=False),
    )
    op.create_index("ix_files_expires_at_s", "files", ["expires_at_s"])
    op.create_index("files_by_team", "files", ["team", "created_at_s"])
    op.create_table(
        "batches",
        sa.Column("id", sa.String(64), primary_key=True),
        sa.Column("team", sa.String(128), nullable=False),
        sa.Column("key_id", sa.String(32), nullable=False, comment=_PAYS),
        sa.Column("endpoint", sa.String(64), nullable=False),
        sa.Column("input_file_id", sa.String(64), nullable=False),
        sa.Column("labels", sa.JSON, comment="The client's own metadata."),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("errors", sa.JSON, comment=_ERRORS),
        sa.Column("output_file_id", sa.String(64)),
        sa.Column("error_file_id", sa.String(64)),
        sa.Column("total", sa.Integer, nullable=False, comment=_TOTAL),
        sa.Column("completed", sa.Integer, nullable=False),
        sa.Column("failed", sa.Integer, nullable=False),
        sa.Column("created_at_s", sa.Float, nullable=False),
        sa.Column("expires_at_s", sa.Float, nullable=False),
        sa.Column("in_progress_at_s", sa.Float),
        sa.Column("finalizing_at_s", sa.Float),
        sa.Column("completed_at_s", sa.Float),
        sa.Column("failed_at_s", sa.Float),
        sa.Column("expired_at_s", sa.Float),
        sa.Column("cancelling_at_s", sa.Float),
        sa.Column("cancelled_at_s", sa.Float),
        sa.Column("worker", sa.String(64), comment=_WORKER),
        sa.Column("lease_until_s", sa.Float, nullable=False),
    )
    op.create_index("ix_batches_input_file_id", "batches", ["input_file_id"])
    op.create_index("ix_batches_status", "batches", ["status"])
    op.create_index("batches_by_team", "batches", ["team", "created_at_s"])


def downgrade() -> None:
    """Drops the tables; the files' contents stay in their folder."""
    op.drop_table("batches")
    op.drop_table("files")
