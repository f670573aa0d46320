"""Upstreams in the config file: what is taken, what is told, and that no key is repeated."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError
from tests.platform.config.mistakes import only_problem, problems_of

from turnout.config.deployment_file import DeploymentFile
from turnout.config.document import parse
from turnout.config.explain import explain
from turnout.config.settings import GatewaySettings, ModelSettings
from turnout.config.upstream_settings import UpstreamSettings

HUGE = "            huge: {application: huge, tier: high, pools: [reserved, spot], aliases: [h]}\n"
FAR = (
    "            far:\n"
    "              upstream:\n"
    "                base_url: https://api.example.com/openai/v1\n"
    "                model: big-model\n"
    "                context_window: 131072\n"
    "                api_key_env: FAR_KEY\n"
    "                requests_per_minute: 30\n"
    "              price: {input_usd_per_million_tokens: 0.5}\n"
)
OVERFLOW = HUGE.replace("}\n", ", overflow: {to: far, at: 0.8}, fallbacks: [far]}\n")


@pytest.fixture
def far_file(small_file: str) -> str:
    return small_file.replace(HUGE, OVERFLOW + FAR)


def upstream(url: str, **more: Any) -> UpstreamSettings:
    return UpstreamSettings(base_url=url, model="m", context_window=9, **more)


def test_a_file_with_an_upstream_is_right_and_explained(far_file: str) -> None:
    assert problems_of(far_file) == ()
    said = explain(DeploymentFile.model_validate(parse(far_file).data))
    assert "Model far (not for 'auto', upstream)" in said
    assert "https://api.example.com/openai/v1, as 'big-model'" in said
    assert "from the environment variable FAR_KEY" in said
    assert "32 requests at a time, 30 requests a minute" in said
    assert "to far from 80% of its places" in said


@pytest.mark.parametrize(
    "url",
    [
        "https://api.groq.com/openai/v1",
        "http://127.0.0.1:8080/v1",
        "http://[::1]:8080/v1",
        "http://10.1.2.3/v1",
        "http://tgi:3000/v1",
        "http://tgi.models.svc:3000/v1",
        "http://localhost:8000",
    ],
)
def test_https_anywhere_and_http_nearby_are_taken(url: str) -> None:
    assert upstream(url).base_url == url


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("http://api.groq.com/openai/v1", "would go to api.groq.com in plain text"),
        ("http://8.8.8.8/v1", "would go to 8.8.8.8 in plain text"),
        ("https://user:secret@api.example.com/v1", "no user or password in a URL"),
        ("https://api.example.com/v1?key=secret", "no query and no fragment"),
        ("https://api.example.com/v1#secret", "no query and no fragment"),
        ("ftp://api.example.com/v1", "write the API's root"),
        ("api.example.com/v1", "write the API's root"),
        ("https:///v1", "write the API's root"),
        ("https://api.example.com:port/v1", "write the API's root"),
        ("https://api.example.com/v1 secret", "no spaces"),
        ("https://api.example.com\\@evil.example/v1", "no spaces, backslashes"),
    ],
)
def test_other_urls_are_refused_with_a_reason(url: str, told: str) -> None:
    with pytest.raises(ValidationError, match=told) as refused:
        upstream(url)
    assert "secret" not in refused.value.errors()[0]["msg"]


def test_plain_http_far_away_has_to_be_meant() -> None:
    assert upstream("http://api.example.com/v1", allow_http=True).allow_http


def test_the_key_stands_in_one_place() -> None:
    with pytest.raises(ValidationError, match=r"api_key_env \(K\) and api_key_file \(/k\)"):
        upstream("https://a.example/v1", api_key_env="K", api_key_file="/k")


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (
            "            far:\n",
            "            far:\n              pools: [spot]\n",
            "pools of a model",
        ),
        ("to: far, at", "to: fra, at", "overflow.to 'fra' is no other model"),
        ("at: 0.8", "at: 0", "greater than 0"),
        ("to: far, at", "to: huge, at", "overflow.to 'huge' is no other model"),
        ("api_key_env: FAR_KEY", "api_key_env: sk-secret", "should match pattern"),
        ("api_key_env: FAR_KEY", "api_key: sk-secret", "did you mean 'api_key_env'?"),
        ("https://api", "https://u:sk-secret@api", "no user or password"),
    ],
)
def test_a_mistake_is_named_and_no_key_repeated(
    far_file: str, old: str, new: str, told: str
) -> None:
    problem = only_problem(far_file, old, new)
    assert told in problem.message
    assert "secret" not in str(problem)


def test_settings_that_fail_while_running_repeat_no_value() -> None:
    """Serve logs the error."""
    far = {"upstream": {"base_url": "https://a.example", "api_key": "sk-secret"}}
    with pytest.raises(ValidationError) as refused:
        GatewaySettings.model_validate({"models": {"far": far}})
    assert "sk-secret" not in str(refused.value)


def test_an_application_that_hosts_an_upstreams_name_is_found(far_file: str) -> None:
    renamed = far_file.replace("            far:\n", "            tiny2:\n")
    text = renamed.replace("far, at", "tiny2, at").replace("[far]", "[tiny2]")
    text = text.replace("      model: tiny\n", "      model: tiny2\n")
    told = [problem.message for problem in problems_of(text)]
    assert any("'tiny' hosts a model of this name" in message for message in told)


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({}, "application and pools missing"),
        ({"application": "a"}, "pools missing"),
        ({"pools": ["spot"]}, "application missing"),
    ],
)
def test_a_model_runs_here_or_elsewhere(fields: dict[str, Any], told: str) -> None:
    with pytest.raises(ValidationError, match=told):
        ModelSettings.model_validate({"tier": "t", **fields})
