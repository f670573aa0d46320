"""The texts that `turnout up` and `turnout status` print. Pure."""

from turnout.cluster.run_dir import Run, RunDir
from turnout.cluster.serve_api import ApplicationStatus
from turnout.config.settings import AUTO, GatewaySettings

_KEY_MADE = """Your key, shown this once:

  export TURNOUT_KEY={key}
"""
_KEY_KNOWN = "Keys were made before; `turnout keys create --team NAME --quiet` prints another.\n"
_NO_KEYS = "Keys are off: whoever reaches it may ask, with any key.\n"
_QUESTION = "What is the capital of France?"


def ready_text(
    run: Run, run_dir: RunDir, settings: GatewaySettings, new_key: str | None = None
) -> str:
    """Returns where everything is and how to make the first call."""
    about_key = _KEY_MADE.format(key=new_key) if new_key else _KEY_KNOWN
    model = AUTO if settings.router else next(iter(settings.models))
    return f"""
{about_key if settings.keys == "required" else _NO_KEYS}
Ready: {run.url}/v1

  curl -s {run.url}/v1/chat/completions -H 'content-type: application/json' \\
    -H "authorization: Bearer $TURNOUT_KEY" \\
    -d '{{"model": "{model}", "messages": [{{"role": "user", "content": "{_QUESTION}"}}]}}'

  import os
  from openai import OpenAI
  client = OpenAI(base_url="{run.url}/v1", api_key=os.environ["TURNOUT_KEY"])
  answer = client.chat.completions.create(
      model="{model}", messages=[{{"role": "user", "content": "{_QUESTION}"}}]
  )
  print(answer.model, answer.choices[0].message.content)

metrics    {run.url}/metrics
logs       {run_dir.logs}/serve  (turnout logs)
keys       turnout keys create --team NAME  (admin API: {run.admin_url})
dashboard  {run.dashboard}  (token: {run_dir.token_path})
stop       turnout down
"""


def addresses(run: Run, run_dir: RunDir, engines: dict[str, list[str]]) -> dict[str, object]:
    """Returns where everything of a running deployment is, for other programs."""
    return {
        "url": run.url,
        "dashboard": run.dashboard,
        "token_file": str(run_dir.token_path),
        "config": run.config,  # as written; what runs has the host below, whatever it says
        "http_host": run.http_host,
        "engines": engines,
        "engine_key_file": str(run_dir.replica_key_path),  # what opens their ports
    }


def status_text(run: Run, states: list[ApplicationStatus], facts: dict[str, str]) -> str:
    """Returns the running deployment as lines: applications, pools, then facts."""
    lines = [f"{run.url}/v1 since {run.started_at}, from {run.config}", ""]
    for state in states:
        lines.append(f"{state.name:<16} {state.status}")
        for pool in state.pools:
            lines.append(f"  {pool.name:<14} {pool.status}  {pool.running}/{pool.target} replicas")
            if pool.message:
                lines.append(f"    {pool.message.strip().splitlines()[-1]}")
    lines += ["", *(f"{name:<13} {value}" for name, value in facts.items())]
    return "\n".join(lines)
