"""Makes a team and a key of Turnout's over its admin API: every limit is set, and none is near."""

from __future__ import annotations

import json
from typing import Any
from urllib.request import Request, urlopen

LIMITS = {
    "requests_per_minute": 10**9,
    "tokens_per_minute": 10**12,
    "concurrent_requests": 10**6,
    "usd_per_day": 1e9,
    "usd_per_month": 1e9,
}
TEAM = "bench"


def new_key(url: str, admin_key: str) -> str:
    """Returns a new key of a limited team; raises `OSError` where the API refuses."""
    _call(url, admin_key, "PUT", f"/admin/teams/{TEAM}", {"limits": LIMITS})
    asked = {"team": TEAM, "name": "bench", "limits": LIMITS}
    return str(_call(url, admin_key, "POST", "/admin/keys", asked)["key"])


def _call(url: str, admin_key: str, method: str, path: str, body: Any) -> Any:
    headers = {"authorization": f"Bearer {admin_key}", "content-type": "application/json"}
    request = Request(f"{url}{path}", json.dumps(body).encode(), headers, method=method)
    with urlopen(request, timeout=30) as answer:
        return json.load(answer)
