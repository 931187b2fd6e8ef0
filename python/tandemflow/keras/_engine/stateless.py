"""Calls that take the values of variables and give back what they became, and leave the variables as they were."""
import contextlib

from ... import _tandem


@contextlib.contextmanager
def values_in(variables, values, what):
    """The variables hold the values while the body runs."""
    if len(variables) != len(values):
        raise ValueError(f"{what} must be a list of {len(variables)} values, one for each variable, got {len(values)}")
    before = [_tandem.to_tensor(variable) for variable in variables]
    try:
        for variable, value in zip(variables, values):
            variable.assign(_tandem.to_tensor(value))
        yield
    finally:
        for variable, value in zip(variables, before):
            variable.assign(value)


def read(variables):
    return [_tandem.to_tensor(variable) for variable in variables]
