"""Bounds on clients of the HTTP server that Serve itself starts in a gateway replica's process."""

from uvicorn.config import HTTP_PROTOCOLS

from turnout.gateway.listener import GuardedHttp


def guard_serve_listener() -> None:
    """Has every uvicorn server that this process starts from now on use `GuardedHttp`.

    Serve names no protocol, which is uvicorn's "auto"; it has no setting for another.
    """
    HTTP_PROTOCOLS["auto"] = f"{GuardedHttp.__module__}:{GuardedHttp.__name__}"
