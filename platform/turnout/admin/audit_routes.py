"""`/admin/audit`."""

from dataclasses import asdict
from typing import Annotated

from fastapi import APIRouter, Query

from turnout.admin.depends import Limit, Store
from turnout.admin.models import AuditList, AuditRow, AuditVerdict
from turnout.store import audit

router = APIRouter(prefix="/admin/audit", tags=["audit"])
Before = Annotated[int | None, Query(ge=1, lt=2**63, description="`next` of the page before.")]
Head = Annotated[
    str | None,
    Query(pattern=r"^[0-9a-f]{64}$", description="A hash noted earlier, whose row must be there."),
]


@router.get("")
async def list_(store: Store, before: Before = None, limit: Limit = 100) -> AuditList:
    """List acts, newest first."""
    async with store.connect() as connection:
        entries = await audit.listed(connection, before, limit)
    data = [AuditRow(**asdict(entry)) for entry in entries]
    return AuditList(data=data, next=entries[-1].sequence if len(entries) == limit else None)


@router.get("/verify")
async def verify(store: Store, head: Head = None) -> AuditVerdict:
    """Check the hash chain of the whole log."""
    async with store.connect() as connection:
        verdict = await audit.verify(connection, head)
    return AuditVerdict(is_whole=verdict.broken_at is None, **asdict(verdict))
