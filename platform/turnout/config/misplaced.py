"""Says what an unknown key probably means: a typo, an old name, or a key of another place."""

from collections.abc import Mapping
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, Tag

from turnout.config.deployment_file import (
    DeploymentFile,
    GatewayArgs,
    GatewayDeployment,
    PoolDeployment,
)
from turnout.config.model_args import OWNED_ENGINE_ARGS, ModelArgs, PoolArgs, ReplicaArgs
from turnout.config.problems import Loc, closest
from turnout.config.serve_schema import Application, Autoscaling, Deployment, HttpOptions
from turnout.config.settings import GatewaySettings, Limits, ModelSettings, Price, Settings

_RENAMED = {
    "max_concurrent_queries": "max_ongoing_requests",
    "target_num_ongoing_requests_per_replica": "target_ongoing_requests",
    "smoothing_factor": "upscaling_factor and downscaling_factor",
    "upscale_smoothing_factor": "upscaling_factor",
    "downscale_smoothing_factor": "downscaling_factor",
    "metrics_interval_s": "look_back_period_s",
    **OWNED_ENGINE_ARGS,
}
_SHAPED_BY_ARGS = {
    "ray_actor_options",
    "placement_group_bundles",
    "placement_group_strategy",
    "placement_group_bundle_label_selector",
    "user_config",
}
_RUNTIME = "it may change while engines run, and everything in args restarts them when it changes"
_IN_MODELS = "the gateway's user_config, under models"
_IN_GATEWAY = "the gateway's user_config"
_IN_LIMITS = "the gateway's user_config, under limits"
_IN_DEPLOYMENTS = "the application's deployments, at the pool's entry"


def _runtime_keys() -> Mapping[str, str]:
    """Every key that may change at run time, with the place it belongs to."""
    places: tuple[tuple[type[Settings], str], ...] = (
        (Autoscaling, _IN_DEPLOYMENTS),
        (Deployment, _IN_DEPLOYMENTS),
        (Limits, _IN_LIMITS),
        (GatewaySettings, _IN_GATEWAY),
        (Price, _IN_MODELS),
        (ModelSettings, _IN_MODELS),
    )
    return {key: place for model, place in places for key in model.model_fields}


def hint(parent: type[BaseModel] | None, key: object) -> str:
    """Says what would be right instead of an unknown key of `parent`."""
    if parent is None or not isinstance(key, str):
        return "unknown key"
    return f"unknown key: {_better(parent, key)}"


def _better(parent: type[BaseModel], key: str) -> str:
    known = list(parent.model_fields)
    new = _RENAMED.get(key, "")
    if new and set(new.split(" and ")) <= set(known):
        return f"it is called {new} here"
    if place := _place_of(parent, key):
        return place
    answer = closest(key, known)
    if issubclass(parent, ModelArgs) and answer.startswith("known"):
        return f"{answer}; vLLM's own arguments belong under engine_args"
    return answer


def _place_of(parent: type[BaseModel], key: str) -> str | None:
    """Says where a key belongs that is known elsewhere in the file."""
    runtime = _runtime_keys().get(key)
    if issubclass(parent, ReplicaArgs | GatewayArgs | PoolArgs) and runtime:
        return f"it belongs to {runtime}: {_RUNTIME}"
    if issubclass(parent, PoolDeployment) and key in _SHAPED_BY_ARGS:
        return "the model's args decide it (resources, tensor_parallel_size, pools)"
    if issubclass(parent, GatewayDeployment) and key in GatewaySettings.model_fields:
        return "it belongs one level down, to user_config"
    if issubclass(parent, ModelSettings | GatewaySettings) and key in ModelArgs.model_fields:
        return "it shapes engines and belongs to the args of the model's application"
    if issubclass(parent, Application) and key in HttpOptions.model_fields:
        return "it belongs to http_options at the top of the file"
    return None


def model_at(loc: Loc) -> type[BaseModel] | None:
    """Finds the settings class whose fields stand at a location (union tags included)."""
    kind: Any = DeploymentFile
    for part in loc:
        kind = _inside(_plain(kind), part)
    kind = _plain(kind)
    return kind if isinstance(kind, type) and issubclass(kind, BaseModel) else None


def _inside(kind: Any, part: str | int) -> Any:
    """Annotation of the value at a key, an index or a union's tag."""
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        field = kind.model_fields.get(str(part))
        return field.annotation if field else None
    if get_origin(kind) is Union or isinstance(kind, UnionType):
        return next((case for case in get_args(kind) if Tag(str(part)) in get_args(case)), None)
    arguments = get_args(kind)
    if get_origin(kind) is dict:
        return arguments[1]
    return arguments[0] if arguments else None


def _plain(kind: Any) -> Any:
    """The annotation without `Annotated` and without `| None`."""
    while get_origin(kind) is Annotated:
        kind = get_args(kind)[0]
    if get_origin(kind) is Union or isinstance(kind, UnionType):
        cases = [case for case in get_args(kind) if case is not type(None)]
        return _plain(cases[0]) if len(cases) == 1 else kind
    return kind
