"""keras.mixed_precision: computing in 16 bits with variables in 32."""
from .dtype_policies import DTypePolicy, Policy, dtype_policy, set_dtype_policy
from .optimizers import LossScaleOptimizer

global_policy = dtype_policy
set_global_policy = set_dtype_policy

__all__ = ["DTypePolicy", "LossScaleOptimizer", "Policy", "dtype_policy", "global_policy", "set_dtype_policy", "set_global_policy"]
