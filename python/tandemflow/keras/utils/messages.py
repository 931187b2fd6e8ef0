"""Where messages of training go: the console, or the log when interactive logging is off."""
import sys

_interactive = True


def set_interactive_logging(on):
    """Progress goes to the terminal, or to the log."""
    global _interactive
    _interactive = bool(on)


def is_interactive_logging_enabled():
    """Whether progress goes to the terminal rather than to the log."""
    return _interactive


def print_message(text, line_break=True):
    if not _interactive:
        import logging

        logging.getLogger("tandemflow").info(text)
        return
    text = text + "\n" if line_break else text
    try:
        sys.stdout.write(text)
    except UnicodeEncodeError:  # a console that knows no bar characters
        sys.stdout.write(text.encode("ascii", "ignore").decode("ascii"))
    sys.stdout.flush()
