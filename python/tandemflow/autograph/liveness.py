"""Which variables are read later: only those need to come out of a branch or go through a loop."""
import ast

from .symbols import SCOPES, Uses


def _loop(node, live, killed, reads):
    """What is live before a loop whose body runs any number of times."""
    head = set(live) | reads
    while True:
        inside = block(node.body, head) - killed
        if inside <= head:
            break
        head |= inside
    node.live_after = set(live)
    node.live_inside = inside | reads
    return head


def _statement(node, live):
    if isinstance(node, ast.If):
        node.live_after = set(live)
        return block(node.body, live) | block(node.orelse, live) | Uses(node.test).reads
    if isinstance(node, ast.While):
        return _loop(node, live, set(), Uses(node.test).reads)
    if isinstance(node, ast.For):
        target, extra = Uses(node.target), getattr(node, "extra_test", None)
        reads = target.reads | (Uses(extra).reads if extra is not None else set())
        return _loop(node, live, target.writes, reads) | Uses(node.iter).reads
    if isinstance(node, (ast.With, ast.AsyncWith)):
        uses = Uses(*node.items)
        return (block(node.body, live) - uses.writes) | uses.reads
    if isinstance(node, ast.Return):
        return Uses(node).reads
    uses = Uses(node)
    blocks = [value for _, value in ast.iter_fields(node) if isinstance(value, list) and value and isinstance(value[0], ast.AST)]
    if isinstance(node, SCOPES) or not any(isinstance(item, (ast.stmt, ast.ExceptHandler)) or hasattr(item, "body") for items in blocks for item in items):
        return (live - uses.writes) | uses.reads
    # try, match: parts may run or not, in orders that are not followed here.
    wide = live | uses.reads
    for items in blocks:
        for item in items:
            if isinstance(item, ast.stmt):
                _statement(item, wide)
            elif hasattr(item, "body"):
                block(item.body, wide)
    return wide


def block(statements, live):
    """What is live before the statements, given what is after them; every branch and loop inside is marked."""
    live = set(live)
    for node in reversed(statements):
        live = _statement(node, live)
    return live
