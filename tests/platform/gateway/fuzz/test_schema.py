"""What our own OpenAPI page says can be asked is asked, with and without faults in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_schema_conformance,
    status_code_conformance,
    unsupported_method,
)

from turnout.gateway.openapi import openapi

if TYPE_CHECKING:
    from tests.platform.gateway.fuzz.conftest import Served

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    negative_data_rejection,
    unsupported_method,
]
page = schemathesis.openapi.from_dict(openapi())


@page.parametrize()
@settings(
    max_examples=15,
    deadline=None,
    database=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
def test_the_page_tells_what_is_answered(case: schemathesis.Case[Any], served: Served) -> None:
    case.call_and_validate(base_url=served.url, checks=CHECKS)
