"""tf.data.Options and its groups of settings."""
import enum


class AutoShardPolicy(enum.IntEnum):
    """How a dataset is divided among workers; options take it, datasets are divided by element."""

    OFF = -1
    AUTO = 0
    FILE = 1
    DATA = 2
    HINT = 3


class ExternalStatePolicy(enum.Enum):
    """What happens to state outside of a dataset that is saved; options take it."""

    WARN = 0
    IGNORE = 1
    FAIL = 2


class AutotuneAlgorithm(enum.Enum):
    """How buffers and workers are chosen; options take it, the measured wait of the reader decides."""

    DEFAULT = 0
    HILL_CLIMB = 1
    GRADIENT_DESCENT = 2
    MAX_PARALLELISM = 3
    STAGE_BASED = 4


class _Settings:
    """Named settings with their types, None where nobody set them; others are refused."""

    _types = {}
    _defaults = {}

    def __init__(self):
        for name in self._types:
            vars(self)[name] = self._defaults.get(name)

    def __setattr__(self, name, value):
        kind = self._types.get(name)
        if kind is None:
            raise AttributeError(f"Cannot set the property {name} on {type(self).__name__}.")
        if value is not None and not isinstance(value, kind):
            raise TypeError(f'Property "{name}" must be of type {kind}, got: {value!r} (type: {type(value)})')
        super().__setattr__(name, value)

    def __eq__(self, other):
        return vars(self) == vars(other) if type(other) is type(self) else NotImplemented

    __hash__ = None

    def _merged(self, other):
        """These settings with what `other` sets."""
        merged = type(self)()
        for source in (self, other):
            for name, value in vars(source).items():
                if isinstance(value, _Settings):
                    vars(merged)[name] = getattr(merged, name)._merged(value)
                elif value is not None and value != self._defaults.get(name):
                    setattr(merged, name, value)
        return merged


class AutotuneOptions(_Settings):
    """`ram_budget`: bytes that the buffers of a pass may hold."""

    _types = {"autotune_algorithm": AutotuneAlgorithm, "cpu_budget": int, "enabled": bool, "initial_parallelism": int, "min_parallelism": int,
              "ram_budget": int}  # fmt: skip


class ThreadingOptions(_Settings):
    """Taken and kept; the owner of the cores decides how many threads there are."""

    _types = {"max_intra_op_parallelism": int, "private_threadpool_size": int}


class OptimizationOptions(_Settings):
    """Taken and kept; pipelines are planned as a whole."""

    _types = dict.fromkeys(
        ("apply_default_optimizations", "filter_fusion", "filter_parallelization", "inject_prefetch", "map_and_batch_fusion", "map_and_filter_fusion",
         "map_fusion", "map_parallelization", "noop_elimination", "parallel_batch", "seq_interleave_prefetch", "shuffle_and_repeat_fusion"), bool
    )  # fmt: skip


class DistributeOptions(_Settings):
    """Taken and kept; datasets are divided by element."""

    _types = {"auto_shard_policy": AutoShardPolicy, "num_devices": int}
    _defaults = {"auto_shard_policy": AutoShardPolicy.AUTO}


class Options(_Settings):
    """tf.data.Options. `autotune.ram_budget` (bytes that buffers may hold) is used; orders are always deterministic."""

    _types = {"autotune": AutotuneOptions, "dataset_name": str, "deterministic": bool, "experimental_deterministic": bool,
              "experimental_distribute": DistributeOptions, "experimental_external_state_policy": ExternalStatePolicy,
              "experimental_optimization": OptimizationOptions, "experimental_slack": bool, "experimental_symbolic_checkpoint": bool,
              "experimental_threading": ThreadingOptions, "experimental_warm_start": bool, "framework_type": list, "threading": ThreadingOptions}  # fmt: skip

    def __init__(self):
        super().__init__()
        for name, kind in self._types.items():
            if issubclass(kind, _Settings):
                vars(self)[name] = kind()
        vars(self)["experimental_threading"] = self.threading  # its older name

    def merge(self, options):
        """These options with what `options` sets."""
        merged = self._merged(options)
        vars(merged)["experimental_threading"] = merged.threading
        return merged
