"""Says in plain words what a config file would start. Pure: builds text, prints nothing."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from turnout.config.deployment_file import (
    DeploymentFile,
    EmbeddingApplication,
    HostApplication,
    ModelApplication,
)
from turnout.config.embedding_args import EmbeddingArgs
from turnout.config.model_args import ModelArgs, ReplicaArgs
from turnout.config.settings import Market, ModelSettings, Price
from turnout.config.upstream_settings import UpstreamSettings

_RESTARTS = """\
What a change restarts
  a model's args          that model's engines, pool by pool; the other models' stay up
  the gateway's settings  nothing (user_config: models, prices, router, limits)
  deployments entries     nothing (replica bounds); a new application only adds its engines"""


def explain(file: DeploymentFile) -> str:
    """Describes the gateway, every model's pools and resources, and what a change restarts."""
    blocks = [_gateway(file)]
    blocks += [_model(app, file.settings.models[app.args.model]) for app in file.models]
    blocks += [_embedding(app, file.settings.models[app.args.model]) for app in file.embeddings]
    blocks += [
        _upstream(name, model, model.upstream)
        for name, model in file.settings.models.items()
        if model.upstream is not None
    ]
    blocks += [_totals(file), _RESTARTS]
    return "\n\n".join(blocks)


def _gateway(file: DeploymentFile) -> str:
    http, router, limits = file.http_options, file.settings.router, file.settings.limits
    low, high = file.gateway.gateway.bounds
    prefix = (file.gateway.route_prefix or "").rstrip("/")
    return _block(
        f"Gateway http://{http.host}:{http.port}{prefix}/v1",
        {
            "replicas": _range(low, high),
            "model 'auto'": " → ".join(router.tiers) if router else "off (no router settings)",
            "good enough": ", ".join(
                f"{tier} from P = {least:g}" for tier, least in router.good_enough.items()
            )
            if router
            else "",
            "limits": f"{limits.max_body_bytes / 2**20:g} MiB body, "
            f"{limits.request_timeout_s:g} s per request",
        },
    )


def _model(app: ModelApplication, settings: ModelSettings) -> str:
    args = app.args
    rows = {
        "asked for as": ", ".join((args.model, *settings.aliases)),
        "can": ", ".join(settings.capabilities),
        "price": _price(settings.price),
        **_instead(settings),
        "context window": f"{args.context_window} tokens",
        "pools": _pools(app, args),
        "each replica": _replica(args),
        "layout": _layout(args),
        "memory": _memory(args),
        "weights from": "\n".join(f"{n}. {each}" for n, each in enumerate(args.sources, 1)),
        "engine": ", ".join(f"{key}={value}" for key, value in args.engine_args.items()),
    }
    return _block(f"Model {args.model} (tier {settings.tier}, application {app.name})", rows)


def _embedding(app: EmbeddingApplication, settings: ModelSettings) -> str:
    args = app.args
    rows = {
        "asked for as": ", ".join((args.model, *settings.aliases)),
        "can": ", ".join(settings.capabilities),
        "price": _price(settings.price),
        "context window": f"{args.context_window} tokens",
        "pools": _pools(app, args),
        "each replica": f"{_amounts(args.resources)}, batches of {args.batch_size}",
        "weights from": args.source or "all-MiniLM-L6-v2, installed with Turnout",
    }
    return _block(f"Model {args.model} (application {app.name})", rows)


def _upstream(name: str, settings: ModelSettings, upstream: UpstreamSettings) -> str:
    rates = {
        "requests": upstream.requests_per_minute,
        "tokens": upstream.tokens_per_minute,
    }
    a_minute = [f"{most} {what} a minute" for what, most in rates.items() if most is not None]
    rows = {
        "asked for as": ", ".join((name, *settings.aliases)),
        "can": ", ".join(settings.capabilities),
        "price": _price(settings.price),
        **_instead(settings),
        "context window": f"{upstream.context_window} tokens",
        "answered by": f"{upstream.base_url}, as '{upstream.model}'",
        "key": _key(upstream),
        "at most": ", ".join((f"{upstream.max_running} requests at a time", *a_minute)),
    }
    tier = f"tier {settings.tier}" if settings.tier else "not for 'auto'"
    return _block(f"Model {name} ({tier}, upstream)", rows)


def _key(upstream: UpstreamSettings) -> str:
    if upstream.api_key_env:
        return f"from the environment variable {upstream.api_key_env}"
    return f"from the file {upstream.api_key_file}" if upstream.api_key_file else "none"


def _instead(settings: ModelSettings) -> dict[str, str]:
    """Says which models answer in its place, where any do."""
    rows = {}
    if settings.overflow is not None:
        rows["overflow"] = (
            f"to {settings.overflow.to} from {settings.overflow.at:.0%} of its places"
        )
    if settings.fallbacks:
        rows["fallbacks"] = ", ".join(settings.fallbacks)
    return rows


def _pools(app: HostApplication, args: ReplicaArgs) -> str:
    return "\n".join(_pool(app, args, market) for market in args.pools)


def _pool(app: HostApplication, args: ReplicaArgs, market: Market) -> str:
    low, high = app.bounds(market)
    labels = args.pools[market].node_labels
    where = " and ".join(f"{key}={value}" for key, value in labels.items())
    return f"{market}: {_range(low, high)} on {f'nodes with {where}' if where else 'any node'}"


def _replica(args: ModelArgs) -> str:
    asked = _amounts(_asked(args))
    accelerator = "" if args.on_cpu else f" on {args.accelerator}"
    return f"{asked}{accelerator} ({args.replica_cpus:g} CPU of it for its own process)"


def _layout(args: ModelArgs) -> str:
    size, stages = args.tensor_parallel_size, args.pipeline_parallel_size
    if args.workers == 1:
        return "one worker, nothing is split"
    place = "on one node" if stages == 1 else f"{size} per node"
    return f"{args.workers} workers: tensor parallel {size} x pipeline parallel {stages}, {place}"


def _memory(args: ModelArgs) -> str:
    if args.on_cpu:
        return f"weights and {_cpu_cache(args)} of KV cache"
    share = args.engine_args.get("gpu_memory_utilization")
    return f"{share:.0%} of each GPU's memory" if share else "vLLM's default share of each GPU"


def _cpu_cache(args: ModelArgs) -> str:
    """The environment variable wins over the engine argument, as in vLLM."""
    if space := args.environment.get("VLLM_CPU_KVCACHE_SPACE"):
        return f"{space} GiB"
    size = args.engine_args.get("kv_cache_memory_bytes")
    return f"{size / 2**30:g} GiB" if isinstance(size, int) else "as much as is free"


def _totals(file: DeploymentFile) -> str:
    low, high = (_amounts(_total((*file.models, *file.embeddings), end)) for end in (0, 1))
    return _block("All replicas together", {"at least": low or "nothing", "at most": high})


def _amounts(resources: Mapping[str, float]) -> str:
    return ", ".join(f"{amount:g} {name}" for name, amount in resources.items())


def _total(apps: Iterable[ModelApplication | EmbeddingApplication], end: int) -> Counter[str]:
    total: Counter[str] = Counter()
    for app in apps:
        replicas = sum(app.bounds(market)[end] for market in app.args.pools)
        for name, amount in _asked(app.args).items():
            total[name] += round(amount * replicas, 6)  # type: ignore[assignment]
    return +total


def _asked(args: ModelArgs | EmbeddingArgs) -> dict[str, float]:
    """Resources of one replica: all its workers and its own process."""
    if isinstance(args, EmbeddingArgs):
        return dict(args.resources)
    asked = {name: amount * args.workers for name, amount in args.resources.items()}
    asked["CPU"] = asked.get("CPU", 0) + args.replica_cpus
    return asked


def _price(price: Price) -> str:
    prompt, answer = price.input_usd_per_million_tokens, price.output_usd_per_million_tokens
    return f"${prompt:g} in, ${answer:g} out per million tokens"


def _range(low: int, high: int) -> str:
    if low == high:
        return f"{low} replica{'' if low == 1 else 's'}"
    return f"{low} to {high} replicas"


def _block(title: str, rows: Mapping[str, str]) -> str:
    return "\n".join([title, *_lines(rows)])


def _lines(rows: Mapping[str, str]) -> Iterator[str]:
    for label, text in rows.items():
        for index, line in enumerate(text.splitlines()):
            yield f"  {label if index == 0 else '':<15} {line}"
