"""What Serve's REST API tells becomes states an operator can read."""

from dataclasses import replace
from pathlib import Path

from tests.platform.gateway.system import settings

from turnout.cluster.report import addresses, ready_text, status_text
from turnout.cluster.run_dir import Run, RunDir
from turnout.cluster.serve_api import parse_applications
from turnout.cluster.up import failure_text, waiting_text

RUN = Run("r", "/c.yaml", "0.0.0.0", 8000, 1, 8265, "2026-01-01T00:00:00+00:00", (8000,))

# As Serve 2.60 answers GET /api/serve/applications/, shortened.
DETAILS = {
    "applications": {
        "small": {
            "status": "DEPLOYING",
            "message": "",
            "deployments": {
                "reserved": {
                    "name": "reserved",
                    "status": "UPDATING",
                    "message": "Traceback…\nValueError: no weights\n",
                    "target_num_replicas": 2,
                    "replicas": [{"state": "RUNNING"}, {"state": "STARTING"}],
                }
            },
        },
        "gateway": {"status": "RUNNING", "message": "", "deployments": {}},
        "large": {"status": "DEPLOY_FAILED", "message": "it broke", "deployments": {}},
    }
}


def test_states_and_replicas_are_read_from_serves_answer() -> None:
    small, gateway, large = parse_applications(DETAILS)
    assert (small.is_running, gateway.is_running, large.has_failed) == (False, True, True)
    (pool,) = small.pools
    assert (pool.name, pool.running, pool.target) == ("reserved", 1, 2)
    assert parse_applications({}) == []


def test_a_failure_is_told_with_the_last_line_of_its_error() -> None:
    small = parse_applications(DETAILS)[0]
    assert failure_text(replace(small, message="it broke")) == "it broke; ValueError: no weights"


def test_a_lack_of_resources_is_told_while_waiting() -> None:
    small = parse_applications(DETAILS)[0]
    stuck = "1 replicas that have taken more than 30s to be scheduled. It needs CPU."
    waiting = replace(small, pools=(replace(small.pools[0], message=stuck),))
    assert waiting_text([small], ["small"]) == "waiting for small"
    assert waiting_text([waiting], ["small"]) == f"waiting for small; {stuck}"


def test_status_shows_pools_and_the_last_line_of_a_failure() -> None:
    text = status_text(RUN, parse_applications(DETAILS), {"memory": "3.00 GiB"})
    assert "reserved       UPDATING  1/2 replicas" in text
    assert "    ValueError: no weights" in text
    assert "Traceback" not in text
    assert "memory        3.00 GiB" in text


def test_the_ready_text_has_a_url_that_can_be_opened() -> None:
    text = ready_text(RUN, RunDir(Path("/tmp/x")), settings())
    assert "http://127.0.0.1:8000/v1" in text
    assert "0.0.0.0" not in text
    assert '"model": "auto"' in text


def test_the_ready_text_asks_for_what_is_on_offer() -> None:
    text = ready_text(RUN, RunDir(Path("/tmp/x")), settings(router=None, keys="off"))
    assert '"model": "small"' in text
    assert "auto" not in text
    assert "Keys are off" in text


def test_addresses_are_what_another_program_needs() -> None:
    told = addresses(RUN, RunDir(Path("/tmp/x")), {"small": ["http://127.0.0.1:5"]})
    assert told["engines"] == {"small": ["http://127.0.0.1:5"]}
    assert told["token_file"] == "/tmp/x/ray-token"
    assert told["engine_key_file"] == "/tmp/x/replica-key"
