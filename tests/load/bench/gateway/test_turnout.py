from __future__ import annotations

from turnout_load.bench.gateway.echo_pool import EchoReplica
from turnout_load.bench.gateway.turnout import applications

MOCK = "http://127.0.0.1:4321"


def test_every_model_of_the_gateway_has_a_pool_that_names_the_mock() -> None:
    gateway, *pools = applications(MOCK, 8001)
    models = gateway["deployments"][0]["user_config"]["models"]
    by_name = {pool["name"]: pool["args"] for pool in pools}
    for name, model in models.items():
        told = EchoReplica(by_name[model["application"]]).record_replica_metadata()
        assert (told["address"], told["model"], told["market"]) == (MOCK, name, model["pools"][0])
