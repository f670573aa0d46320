"""The admin API: a FastAPI app behind the admin key, on a listener of its own."""

import logging
from collections.abc import Sequence
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.exceptions import RequestValidationError
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, generate_latest
from sqlalchemy.ext.asyncio import AsyncEngine
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse, Response

from turnout.admin import audit_routes, keys_routes, teams_routes
from turnout.admin.errors import DatabaseAway, InvalidInput, NothingHere
from turnout.admin.guard import Guard, answer_fault, answer_of
from turnout.admin.key import AdminKeys
from turnout.gateway.errors import RequestError
from turnout.store.errors import FAILURES

log = logging.getLogger(__name__)


def build_admin(store: AsyncEngine, keys: AdminKeys, more: Sequence[APIRouter] = ()) -> Guard:
    """Builds the admin API as an ASGI app; `more` are routers beside those of keys and teams."""
    app = FastAPI(title="Turnout admin", docs_url=None, redoc_url=None, redirect_slashes=False)
    app.state.store = store
    for router in (keys_routes.router, teams_routes.router, audit_routes.router, *more):
        app.include_router(router)
    metrics = CollectorRegistry()
    refused = Counter(
        "turnout_admin_refused", "Requests to the admin API without its key.", registry=metrics
    )
    _add_pages(app, metrics)
    _add_errors(app)
    return Guard(app, keys, refused)


def _add_pages(app: FastAPI, metrics: CollectorRegistry) -> None:
    @app.get("/healthz", include_in_schema=False)
    async def healthz() -> dict[str, str]:
        return {"status": "ok"}

    @app.get("/metrics", include_in_schema=False)
    async def metrics_page() -> Response:
        return Response(generate_latest(metrics), media_type=CONTENT_TYPE_LATEST)


def _add_errors(app: FastAPI) -> None:
    app.add_exception_handler(RequestError, _told)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _nothing_here)
    app.add_exception_handler(Exception, answer_fault)
    for failure in FAILURES:
        app.add_exception_handler(failure, _away)


async def _told(_request: Request, error: Any) -> JSONResponse:
    return answer_of(error)


async def _invalid(_request: Request, error: Any) -> JSONResponse:
    """Names the first wrong field; pydantic's own text would repeat its value."""
    first = error.errors()[0]
    place = ".".join(str(part) for part in first["loc"] if part not in ("body", "query", "path"))
    return answer_of(InvalidInput(place or "body", first["msg"]))


async def _nothing_here(request: Request, error: Any) -> JSONResponse:
    return answer_of(NothingHere(error.status_code, request.method, request.url.path))


async def _away(_request: Request, error: Any) -> JSONResponse:
    log.warning("admin_database_away", extra={"error": type(error).__name__})
    return answer_of(DatabaseAway())
