"""`/admin/usage`: what all teams used, what their pools cost, and every record as CSV."""

import time
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from turnout.admin.depends import Store
from turnout.admin.errors import InvalidInput
from turnout.store.usage import records_in
from turnout.store.usage_reports import StoredReports
from turnout.usage.as_csv import records_csv, report_csv
from turnout.usage.question import BadQuestion, Question, parse_query, parse_question
from turnout.usage.report import as_json

router = APIRouter(prefix="/admin/usage", tags=["usage"])
CSV = "text/csv; charset=utf-8"
Format = Annotated[Literal["json", "csv"], Query(description="Of the answer.")]
_MOMENT = "Seconds since 1970, or a date or time (UTC where it names no zone)."
_PARAMETERS = {
    "from": f"{_MOMENT} By default 24 hours before `to`.",
    "to": f"{_MOMENT} By default now; not included.",
    "team": "Only this team's.",
    "key": "Only this key's, by its id.",
}
_SUMMING = {
    "group_by": "Some of team, key, model, market, endpoint, with commas between.",
    "bucket": "`hour` or `day`, UTC: one line for each.",
}


def _described(parameters: dict[str, str]) -> dict[str, object]:
    return {
        "parameters": [
            {"name": name, "in": "query", "schema": {"type": "string"}, "description": about}
            for name, about in parameters.items()
        ]
    }


@router.get("", openapi_extra=_described({**_PARAMETERS, **_SUMMING}))
async def report(request: Request, store: Store, format: Format = "json") -> Response:  # noqa: A002 - the parameter's public name
    """Sum up usage with list and true costs; JSON also has the pools' true costs."""
    try:
        answer = await StoredReports(store).report(_question(request))
    except BadQuestion as error:
        raise InvalidInput(error.param, error.problem) from None
    if format == "csv":
        return Response(report_csv(answer), media_type=CSV)
    return JSONResponse(as_json(answer, with_pools=True))


@router.get("/records", openapi_extra=_described(_PARAMETERS))
async def records(request: Request, store: Store) -> StreamingResponse:
    """Every record of a range as CSV, oldest first."""
    try:
        question = _question(request)
    except BadQuestion as error:
        raise InvalidInput(error.param, error.problem) from None
    return StreamingResponse(records_csv(records_in(store, question)), media_type=CSV)


def _question(request: Request) -> Question:
    params = parse_query(request.url.query.encode())
    params.pop("format", None)
    return parse_question(params, time.time())
