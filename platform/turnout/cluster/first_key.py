"""The key that a new deployment's first user gets, made over the admin API and shown once."""

from turnout.admin.client import AdminClient, admin_target
from turnout.cluster.run_dir import RunDir

TEAM = "default"


def first_key(run_dir: RunDir) -> str | None:
    """Returns a new key of the team `default` where no key exists yet, else None.

    Raises an `AdminError`.
    """
    client = AdminClient(admin_target(run_dir=run_dir))
    if client.call("GET", "/admin/keys", limit=1)["data"]:
        return None
    teams = client.pages("/admin/teams", "after")
    if all(team["name"] != TEAM for team in teams):
        client.call("PUT", f"/admin/teams/{TEAM}", {})
    made = client.call(
        "POST",
        "/admin/keys",
        {"team": TEAM, "name": "first", "scopes": ["inference", "batch", "usage"]},
    )
    return str(made["key"])
