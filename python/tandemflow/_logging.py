"""tf.get_logger(): Python's logger of the package, whose level also holds for the lines of the runtime."""
import logging

from . import _tandem


class _Logger(logging.Logger):
    def setLevel(self, level):
        super().setLevel(level)
        # Python counts 20, 30, 40; TensorFlow's runtime 0, 1, 2, and 3 for silence.
        _tandem.set_log_level(min(3, max(0, (self.level + 9) // 10 - 2)))


def _make():
    level = logging.INFO + 10 * _tandem.get_log_level()
    logger = _Logger("tandemflow", level)
    # A child of the root logger, as one that logging.getLogger made; and found by it from now on.
    logger.parent = logging.root
    logger.manager = logging.root.manager
    return logging.root.manager.loggerDict.setdefault("tandemflow", logger)


_LOGGER = None


def get_logger():
    """The logger "tandemflow". get_logger().setLevel("ERROR") silences warnings of the runtime as well."""
    global _LOGGER
    if _LOGGER is None:
        _LOGGER = _make()
    return _LOGGER
