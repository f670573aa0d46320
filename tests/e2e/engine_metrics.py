"""What an engine says of itself on its own port."""

import httpx


def running_at(address: str) -> float:
    """Returns how many requests an engine is running."""
    page = httpx.get(f"{address}/metrics", timeout=5).text
    lines = [li for li in page.splitlines() if li.startswith("vllm:num_requests_running{")]
    assert lines, "the engine's metrics page has no vllm:num_requests_running"
    return sum(float(line.rsplit(" ", 1)[1]) for line in lines)
