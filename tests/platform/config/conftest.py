import pytest

SMALL_FILE = """\
http_options: {host: 127.0.0.1, port: 8000}
applications:
  - name: gateway
    route_prefix: /
    import_path: turnout_deployments.gateway:build
    deployments:
      - name: Gateway
        user_config:
          models:
            tiny: {application: tiny, tier: low, pools: [reserved], aliases: [t]}
            huge: {application: huge, tier: high, pools: [reserved, spot], aliases: [h]}
          router: {tiers: [low, high], good_enough: {low: 0.6}}
          limits: {max_body_bytes: 1000000}
  - name: tiny
    route_prefix: null
    import_path: turnout_deployments.model:build
    args:
      model: tiny
      sources: [hf://org/tiny]
      context_window: 2048
      resources: {CPU: 0.5}
      engine_args: {dtype: bfloat16}
      environment: {OMP_NUM_THREADS: "1"}
      pools: {reserved: {}}
    deployments:
      - {name: reserved, num_replicas: 1}
  - name: huge
    route_prefix: null
    import_path: turnout_deployments.model:build
    args:
      model: huge
      sources: [hf://org/huge]
      context_window: 8192
      tensor_parallel_size: 2
      accelerator: H100
      resources: {GPU: 1}
      pools: {reserved: {}, spot: {}}
    deployments:
      - {name: reserved, num_replicas: 1}
      - {name: spot, autoscaling_config: {min_replicas: 0, max_replicas: 4}}
"""


@pytest.fixture
def small_file() -> str:
    return SMALL_FILE
