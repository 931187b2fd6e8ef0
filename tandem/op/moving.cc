// Ops that lay pieces of a tensor elsewhere: rolled around, mirrored at the edges.
#include "tandem/op/array_records.h"
#include "tandem/op/arrays.h"
#include "tandem/op/groups.h"
#include "tandem/op/open_size.h"
#include "tandem/op/rules.h"

namespace tandem {
namespace {

Specs infer_roll(const InferContext& c) {
  const auto shift = c.attrs.ints("shift"), axis = c.attrs.ints("axis");
  if (shift.size() != axis.size())
    fail(ErrorCode::invalid_argument, "roll: shift and axis must have the same length, got ", shift.size(), " and ",
         axis.size());
  for (std::int64_t a : axis) normalize_axis("roll", a, c.shape(0).rank());
  return same_as_first(c);
}

/// How many elements at each edge are not repeated.
std::int64_t unrepeated(const AttrView& attrs) { return attrs.choice("mode") == "reflect" ? 1 : 0; }

Specs infer_mirror_pad(const InferContext& c) {
  const auto paddings = c.attrs.ints("paddings");
  const Shape& shape = c.shape(0);
  if (static_cast<int>(paddings.size()) != 2 * shape.rank())
    fail(ErrorCode::invalid_argument, "mirror_pad: paddings needs two numbers an axis, ", 2 * shape.rank(), " for ",
         shape, ", got ", paddings.size());
  Ints sizes;
  for (int i = 0; i < shape.rank(); ++i) {
    const auto at = static_cast<std::size_t>(2 * i);
    const std::int64_t before = paddings[at], after = paddings[at + 1], most = shape[i] - unrepeated(c.attrs);
    if (before < 0 || after < 0 || is_smaller_size(most, before) || is_smaller_size(most, after))
      fail(ErrorCode::invalid_argument, "mirror_pad: paddings ", before, " and ", after, " of axis ", i, " of ", shape,
           " must lie between 0 and ", most, ", its size", unrepeated(c.attrs) ? " less 1" : "");
    sizes.push_back(shape[i] + before + after);
  }
  return {{c.dtype(0), Shape(std::span<const std::int64_t>(sizes))}};
}

/// `length` elements of an axis, from `begin` on.
Tensor part(const Tensor& x, int axis, std::int64_t begin, std::int64_t length) {
  Ints begins(static_cast<std::size_t>(x.rank()), 0), sizes(x.shape().begin(), x.shape().end());
  begins[static_cast<std::size_t>(axis)] = begin;
  sizes[static_cast<std::size_t>(axis)] = length;
  return slice(x, begins, sizes);
}

/// x with zeros before and behind it along an axis.
Tensor placed(const Tensor& x, int axis, std::int64_t before, std::int64_t behind) {
  Ints paddings(static_cast<std::size_t>(2 * x.rank()), 0);
  paddings[static_cast<std::size_t>(2 * axis)] = before;
  paddings[static_cast<std::size_t>(2 * axis) + 1] = behind;
  return pad(x, paddings);
}

/// What the margins hold goes back to where it was mirrored from.
Tensors mirror_pad_grad(GradContext& g) {
  const auto paddings = g.attrs().ints("paddings");
  const std::int64_t skip = unrepeated(g.attrs());
  Tensor folded = g.output_grad();
  for (int axis = 0; axis < g.shape(0).rank(); ++axis) {
    const auto at = static_cast<std::size_t>(2 * axis);
    const std::int64_t before = paddings[at], after = paddings[at + 1], size = g.shape(0)[axis];
    if (before == 0 && after == 0) continue;
    const auto margin = [&](std::int64_t begin, std::int64_t length) {
      return reverse(part(folded, axis, begin, length), {axis});
    };
    Tensor sum = part(folded, axis, before, size);
    if (before) sum = sum + placed(margin(0, before), axis, skip, size - skip - before);
    if (after) sum = sum + placed(margin(before + size, after), axis, size - skip - after, skip);
    folded = sum;
  }
  return {folded};
}

}  // namespace

const OpDef roll_op{
    .name = "roll",
    .doc = "Elements moved along axes; those that leave at the end come in at the front.",
    .inputs = {"input"},
    .attrs = {{.name = "shift", .kind = AttrKind::ints}, {.name = "axis", .kind = AttrKind::ints}},
    .dtypes = kFixedSize,
    .infer = infer_roll,
    .grad =
        [](GradContext& g) {
          const auto shift = g.attrs().ints("shift"), axis = g.attrs().ints("axis");
          Ints back;
          for (std::int64_t places : shift) back.push_back(-places);
          return Tensors{roll(g.output_grad(), back, Ints(axis.begin(), axis.end()))};
        },
    .flops_per_element = 0,
};

const OpDef mirror_pad_op{
    .name = "mirror_pad",
    .doc =
        "A margin around the tensor, before and after each axis: the tensor mirrored at its edge, which symmetric "
        "repeats.",
    .inputs = {"tensor"},
    .attrs = {{.name = "paddings", .kind = AttrKind::ints},
              {.name = "mode", .kind = AttrKind::choice, .default_value = "'reflect'", .choices = "reflect|symmetric"}},
    .dtypes = kFixedSize,
    .infer = infer_mirror_pad,
    .grad = mirror_pad_grad,
    .flops_per_element = 0,
};

OpGroup moving_ops() {
  static constexpr const OpDef* kOps[] = {&roll_op, &mirror_pad_op};
  return kOps;
}

Tensor roll(const Tensor& x, const Ints& shift, const Ints& axes) {
  return apply(roll_op, {x}, make_attrs(roll_op, shift, axes));
}
Tensor mirror_pad(const Tensor& x, const Ints& paddings, std::string_view mode) {
  return apply(mirror_pad_op, {x}, make_attrs(mirror_pad_op, paddings, mode));
}

}  // namespace tandem
