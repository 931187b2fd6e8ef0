"""tf.compat.v1.logging: the package's logger under its old name."""
from ..._logging import get_logger

DEBUG, INFO, WARN, ERROR, FATAL = 10, 20, 30, 40, 50


def set_verbosity(v):
    """Which messages are shown."""
    get_logger().setLevel(v)


def get_verbosity():
    """Which messages are shown."""
    return get_logger().level


def debug(msg, *args):
    """A message for whoever debugs."""
    get_logger().debug(msg, *args)


def info(msg, *args):
    """A message."""
    get_logger().info(msg, *args)


def warning(msg, *args):
    """A warning."""
    get_logger().warning(msg, *args)


warn = warning


def error(msg, *args):
    """An error."""
    get_logger().error(msg, *args)


def fatal(msg, *args):
    """An error that ends the program, as the caller sees it."""
    get_logger().critical(msg, *args)
