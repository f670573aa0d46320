"""Everything about the one file that describes a deployment."""

from turnout.config.model_args import ModelArgs, PoolArgs
from turnout.config.settings import GatewaySettings, Limits, Market, ModelSettings, Price

__all__ = [
    "GatewaySettings",
    "Limits",
    "Market",
    "ModelArgs",
    "ModelSettings",
    "PoolArgs",
    "Price",
]
