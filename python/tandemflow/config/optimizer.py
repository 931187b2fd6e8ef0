"""tf.config.optimizer: switches of graph compilation under TensorFlow's names."""

_jit = ""
_options = {"disable_model_pruning": False, "disable_meta_optimizer": False}


def set_jit(enabled):
    """Graphs are always fused and compiled here; kept so that programs that ask for it run, and get_jit() repeats it."""
    global _jit
    _jit = "autoclustering" if enabled is True else enabled or ""


def get_jit():
    """What set_jit() was told: '' or 'autoclustering'."""
    return _jit


def set_experimental_options(options):
    """Names of graph optimizations with True or False; those not named stay as they are."""
    _options.update(options)


def get_experimental_options():
    """What was set, and TensorFlow's two defaults."""
    return dict(_options)
