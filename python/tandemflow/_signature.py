"""Signatures of ops, from the text their records give."""
import inspect


def from_text(text):
    """inspect.Signature of "(x, axis=None, name=None)"."""
    namespace = {}
    exec(f"def op{text}: pass", namespace)
    return inspect.signature(namespace["op"])
