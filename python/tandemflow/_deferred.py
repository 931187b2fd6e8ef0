"""Values of a checkpoint that wait for variables which are made later: layers that are not built yet, attributes not yet set."""
_waiting = []


def wait(restoration):
    """Tries again whenever variables were made, until nothing is left; a later restore of the same checkpoint takes its place."""
    forget(restoration.checkpoint)
    _waiting.append(restoration)


def forget(checkpoint):
    _waiting[:] = [other for other in _waiting if other.checkpoint is not checkpoint]


def variables_made():
    """To be called by whatever has just made variables."""
    if not _waiting:
        return
    from ._control_flow import init_scope

    with init_scope():  # a step that is traced may be what made them
        for restoration in list(_waiting):
            restoration.apply()
            if not restoration.may_go_on():
                forget(restoration.checkpoint)
