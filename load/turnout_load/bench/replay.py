"""An hour of Azure's conversation trace in a minute, against the mock: does the client keep up?"""

from __future__ import annotations

import argparse
from pathlib import Path

from turnout_load.bench.outcome import Outcome, save
from turnout_load.environment import environment
from turnout_load.live import LiveView
from turnout_load.measure import measure
from turnout_load.mock.process import started
from turnout_load.mock.settings import MockSettings
from turnout_load.outputs import write_run
from turnout_load.spec import Spec, Target, Workload


def main() -> None:
    """Measures and saves the outcome."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--trace", type=Path, required=True, help="AzureLLMInferenceTrace_conv.csv")
    parser.add_argument("--speed", type=float, default=60.0)
    parser.add_argument(
        "--stream", action="store_true", help="32 tokens a chunk, else whole answers"
    )
    parser.add_argument("--work", type=Path, default=Path("load-result/replay"))
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    settings = MockSettings(tokens_per_chunk=32)
    with started(settings) as address, LiveView() as view:
        spec = Spec(
            target=Target(url=f"{address}/v1", model="m", stream=options.stream),
            workload=Workload(trace=f"azure:{options.trace}", speed=options.speed),
        )
        result, records = measure(spec, view.update)
    write_run(options.work, result, records)
    delay = result.send_delay_ms
    assert delay is not None
    save(
        Outcome(
            title="An hour of Azure's trace in a minute",
            question="AzureLLMInferenceTrace_conv.csv (CC-BY-4.0) at "
            f"{options.speed:g} times its speed against the mock, "
            f"{'32 tokens a chunk' if options.stream else 'answers as a whole'}: "
            "are the requests sent when they are due?",
            command=f"make bench-replay TRACE={options.trace.name}",
            environment=environment(),
            seed=0,
            columns=["figure", "measured"],
            rows=[
                ["requests sent", result.requests.sent],
                ["answered well", result.requests.ok],
                ["measured time, s", result.rates.measured_s],
                ["requests/s intended", result.rates.requests_intended],
                ["requests/s finished", result.rates.requests_finished],
                ["send delay p50, ms", delay.p50],
                ["send delay p99, ms", delay.p99],
                ["send delay, most, ms", delay.max],
                ["most requests in flight", result.client.peak_in_flight],
                ["share of a core", result.client.cpu_share],
                ["client kept up", "no" if result.client.is_bottleneck else "yes"],
            ],
        ),
        options.out,
    )


if __name__ == "__main__":
    main()
