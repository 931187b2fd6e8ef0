"""keras.ops.rearrange: axes named by words, split and joined as in einops."""
import math
import re

from ... import _ops
from ._convert import drawable
from ._convert import tensor as _tensor


def _groups(side, pattern):
    """The axes of one side of a pattern: a list of names each, one name but for those in brackets."""
    words = re.findall(r"\(([^()]*)\)|(\w+)", side)
    if re.sub(r"\([^()]*\)|\w+|\s", "", side):
        raise ValueError(f"rearrange: '{pattern}' is no pattern such as 'b (h w) c -> b h w c'")
    return [inside.split() if not word else [word] for inside, word in words]


@drawable
def rearrange(tensor, pattern, **axes_lengths):
    """The tensor with its axes in another order, joined or split: rearrange(x, "b (h w) c -> b h w c", h=4)."""
    x = _tensor(tensor)
    sides = pattern.split("->")
    if len(sides) != 2:
        raise ValueError(f"rearrange: the pattern needs one '->', got '{pattern}'")
    before, after = (_groups(side, pattern) for side in sides)
    names = [name for group in before for name in group]
    wanted = [name for group in after for name in group]
    if len(before) != x.ndim or sorted(names) != sorted(wanted) or len(set(names)) != len(names):
        raise ValueError(f"rearrange: '{pattern}' does not fit a tensor of shape {tuple(x.shape)}: both sides must name each axis once")
    sizes = _sizes(before, x.shape.as_list(), dict(axes_lengths), pattern)
    out = _ops.transpose(_ops.reshape(x, [sizes[name] for name in names]), [names.index(name) for name in wanted])
    return _ops.reshape(out, [math.prod(sizes[name] for name in group) for group in after])


def _sizes(groups, shape, known, pattern):
    """The size of each named axis; in each bracket one may be left open."""
    for group, size in zip(groups, shape):
        missing = [name for name in group if name not in known]
        given = math.prod(known[name] for name in group if name in known)
        if len(missing) > 1 or size % max(given, 1) or not missing and given != size:
            raise ValueError(f"rearrange: '{pattern}' does not say how an axis of {size} becomes ({' '.join(group)}); give sizes, such as {group[0]}=…")
        known.update({name: size // given for name in missing})
    return known
