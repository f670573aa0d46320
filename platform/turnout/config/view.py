"""What can be read of a file that may have mistakes, so that all others are found too."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from turnout.config.deployment_file import kind_of
from turnout.config.embedding_args import EmbeddingArgs
from turnout.config.model_args import ModelArgs, ReplicaArgs
from turnout.config.problems import Document, Loc
from turnout.config.settings import ModelSettings
from turnout_router.policy import RouterSettings

Settings = TypeVar("Settings", bound=BaseModel)


_ARGS: Mapping[str, type[ReplicaArgs]] = {"model": ModelArgs, "embedding": EmbeddingArgs}
"""What the `args` of an application that hosts a model are, by its kind."""


@dataclass(frozen=True)
class App:
    """One application as the file has it; `args` is None when too much of it is wrong."""

    loc: Loc
    kind: str
    raw: Mapping[str, object]
    args: ReplicaArgs | None

    @property
    def name(self) -> str | None:
        """Name of the application, where it has one."""
        return text(self.raw.get("name"))

    @property
    def model(self) -> str | None:
        """Public name of the model it hosts."""
        return text(mapping(self.raw.get("args")).get("model"))

    @property
    def deployments(self) -> Sequence[tuple[Loc, Mapping[str, object]]]:
        """Its deployment entries, with where they stand."""
        return list(items(self.raw.get("deployments"), (*self.loc, "deployments")))


@dataclass(frozen=True)
class Offer:
    """One model in the gateway's settings; `settings` is None when too much of it is wrong."""

    loc: Loc
    name: str
    settings: ModelSettings | None


@dataclass(frozen=True)
class View:
    """The readable parts of a file."""

    document: Document
    apps: tuple[App, ...]
    offers: tuple[Offer, ...]
    router_loc: Loc
    router: RouterSettings | None

    @property
    def hosts(self) -> tuple[App, ...]:
        """The applications that host a model."""
        return tuple(app for app in self.apps if app.kind in _ARGS)

    @property
    def engines(self) -> tuple[tuple[App, ModelArgs], ...]:
        """The applications that host vLLM engines, with their `args` where these can be read."""
        return tuple((app, app.args) for app in self.apps if isinstance(app.args, ModelArgs))

    def of_kind(self, kind: str) -> tuple[App, ...]:
        """The applications of one kind."""
        return tuple(app for app in self.apps if app.kind == kind)


def view(document: Document) -> View:
    """Reads what can be read of a document."""
    raw_apps = items(mapping(document.data).get("applications"), ("applications",))
    apps = tuple(App(loc, kind_of(raw), raw, _args(raw)) for loc, raw in raw_apps)
    entries = [entry for app in apps if app.kind == "gateway" for entry in app.deployments]
    loc, entry = entries[0] if entries else ((), {})
    loc, settings = (*loc, "user_config"), mapping(entry.get("user_config"))
    offers = tuple(
        Offer((*loc, "models", name), str(name), lenient(ModelSettings, raw))
        for name, raw in mapping(settings.get("models")).items()
    )
    router = lenient(RouterSettings, settings.get("router"))
    return View(document, apps, offers, (*loc, "router"), router)


def _args(raw: Mapping[str, object]) -> ReplicaArgs | None:
    kind = _ARGS.get(kind_of(raw))
    return lenient(kind, raw.get("args")) if kind else None


def lenient(model: type[Settings], raw: object) -> Settings | None:
    """Validates without the entries that are wrong; None when that leaves too little."""
    fields = dict(mapping(raw))
    while True:
        try:
            return model.model_validate(fields)
        except ValidationError as error:
            wrong = {detail["loc"][0] for detail in error.errors() if detail["loc"]}
            if not wrong & fields.keys():
                return None
            fields = {key: value for key, value in fields.items() if key not in wrong}


def mapping(value: object) -> Mapping[str, object]:
    """The value if it is a mapping, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def text(value: object) -> str | None:
    """The value if it is a string."""
    return value if isinstance(value, str) else None


def items(value: object, loc: Loc) -> Iterator[tuple[Loc, Mapping[str, object]]]:
    """The mappings of a list, each with where it stands."""
    for index, item in enumerate(value if isinstance(value, list) else []):
        if isinstance(item, Mapping):
            yield (*loc, index), item
