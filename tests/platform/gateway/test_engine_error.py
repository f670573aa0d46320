"""An engine's error answer keeps its status only where that is an error's."""

from __future__ import annotations

import pytest

from turnout.gateway.engine_error import engine_error


@pytest.mark.parametrize("status", [302, 399, 600, 799, 999])
def test_a_status_that_is_no_errors_becomes_a_bad_gateway(status: int) -> None:
    assert engine_error(status, b"{}", "prompt").status == 502


@pytest.mark.parametrize("status", [400, 404, 500, 599])
def test_an_errors_status_stays(status: int) -> None:
    assert engine_error(status, b"{}", "prompt").status == status
