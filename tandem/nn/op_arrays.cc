// Functions of keras.ops that choose, move and join elements.
#include <algorithm>
#include <cstdlib>
#include <limits>
#include <numeric>

#include "tandem/nn/keras_call.h"
#include "tandem/op/arrays.h"
#include "tandem/op/elementwise.h"

namespace tandem {
namespace {

Shape shape_of(const Ints& sizes) { return Shape(std::span<const std::int64_t>(sizes.data(), sizes.size())); }
Tensor whole_numbers(const std::vector<std::int32_t>& values) {
  return Tensor::from(values, Shape{static_cast<std::int64_t>(values.size())});
}
/// An argument that is an integer or a list of them.
Ints one_or_more(const KerasCall& call, std::string_view key) {
  if (!call.config.has(key)) call.config.refuse("'", key, "' is missing");
  return call.config.json().value[std::string(key)].is_array() ? call.config.ints(key) : Ints{call.config.integer(key)};
}
/// Files may ask for as many copies as they like.
constexpr std::int64_t kMostCopies = 1 << 20;

// --- Shapes ---

Tensor reshaped(const KerasCall& call) {
  Ints shape = call.config.ints("newshape");
  std::ranges::replace(shape, std::int64_t{0}, std::int64_t{-1});
  return reshape(call.x(), shape);
}

Tensor expanded(const KerasCall& call) {
  Ints axes = one_or_more(call, "axis");
  const int rank = call.x().rank() + static_cast<int>(axes.size());
  for (std::int64_t& axis : axes) axis = normalize_axis("expand_dims", axis, rank);
  std::ranges::sort(axes);
  Tensor x = call.x();
  for (const std::int64_t axis : axes) x = expand_dims(x, axis);
  return x;
}

Tensor swapped(const KerasCall& call) {
  Ints order(static_cast<std::size_t>(call.x().rank()));
  std::iota(order.begin(), order.end(), 0);
  const auto place = [&](const char* key) {
    return static_cast<std::size_t>(normalize_axis("swapaxes", call.config.integer(key), call.x().rank()));
  };
  std::swap(order[place("axis1")], order[place("axis2")]);
  return transpose(call.x(), order);
}

Tensor moved(const KerasCall& call) {
  const int rank = call.x().rank();
  Ints from = one_or_more(call, "source"), to = one_or_more(call, "destination");
  if (from.size() != to.size())
    call.config.refuse("source and destination must name equally many axes, got ", from.size(), " and ", to.size());
  Ints order(static_cast<std::size_t>(rank), -1);
  for (std::size_t i = 0; i < from.size(); ++i) {
    from[i] = normalize_axis("moveaxis", from[i], rank);
    order[static_cast<std::size_t>(normalize_axis("moveaxis", to[i], rank))] = from[i];
  }
  std::int64_t next = 0;
  for (std::int64_t& axis : order) {
    if (axis >= 0) continue;
    while (std::ranges::find(from, next) != from.end()) ++next;
    axis = next++;
  }
  return transpose(call.x(), order);
}

Tensor rotated(const KerasCall& call) {
  const int rank = call.x().rank();
  Ints axes = call.config.ints("axes", 2, Ints{0, 1});
  for (std::int64_t& axis : axes) axis = normalize_axis("rot90", axis, rank);
  const std::int64_t quarters = ((call.config.integer("k", 1) % 4) + 4) % 4;
  Ints order(static_cast<std::size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[static_cast<std::size_t>(axes[0])], order[static_cast<std::size_t>(axes[1])]);
  if (quarters == 0) return call.x();
  if (quarters == 2) return reverse(call.x(), axes);
  return quarters == 1 ? transpose(reverse(call.x(), {axes[1]}), order)
                       : reverse(transpose(call.x(), order), {axes[1]});
}

// --- Joining and dividing ---

Tensor stacked(const KerasCall& call) {
  const int rank = call.x().rank() + 1;
  const int axis = normalize_axis("stack", call.config.integer("axis", 0), rank);
  Tensors parts;
  for (const Tensor& input : call.inputs) parts.push_back(expand_dims(input, axis));
  return concat(parts, axis);
}

/// hstack, vstack and dstack: along an axis, to which too few axes are added first.
template <int kAxis, int kLeastRank>
Tensor joined(const KerasCall& call) {
  Tensors parts;
  for (Tensor x : call.inputs) {
    while (x.rank() < kLeastRank) x = x.rank() < 2 ? expand_dims(x, 0) : expand_dims(x, x.rank());
    parts.push_back(x);
  }
  return concat(parts, kAxis == 1 && call.x().rank() == 1 ? 0 : kAxis);
}

/// Sizes of the parts: so many equal ones, or between the places where it is cut.
Ints part_sizes(const KerasCall& call, std::int64_t size, bool uneven) {
  const bool counted =
      !call.config.has("indices_or_sections") || !call.config.json().value["indices_or_sections"].is_array();
  Ints sizes;
  if (counted) {
    const std::int64_t count = call.config.integer("indices_or_sections");
    if (count < 1 || count > kMostCopies || (!uneven && size % count))
      call.config.refuse("an axis of size ", size, " does not divide into ", count, " equal parts");
    for (std::int64_t i = 0; i < count; ++i) sizes.push_back(size / count + (i < size % count));
    return sizes;
  }
  std::int64_t begin = 0;
  for (const std::int64_t index : call.config.ints("indices_or_sections")) {
    const std::int64_t end = std::clamp<std::int64_t>(index < 0 ? index + size : index, begin, size);
    sizes.push_back(end - begin), begin = end;
  }
  sizes.push_back(size - begin);
  return sizes;
}

Tensors divided(const KerasCall& call, int axis, bool uneven = false) {
  Tensors parts;
  std::int64_t begin = 0;
  for (const std::int64_t size : part_sizes(call, call.x().shape()[axis], uneven)) {
    parts.push_back(part_of(call.x(), axis, begin, size));
    begin += size;
  }
  return parts;
}

Tensors unstacked(const KerasCall& call) {
  const int axis = call.axis(0);
  Tensors parts;
  for (std::int64_t i = 0; i < call.x().shape()[axis]; ++i)
    parts.push_back(squeeze(part_of(call.x(), axis, i, 1), {axis}));
  return parts;
}

// --- More of it ---

Tensor tiled(const KerasCall& call) {
  const Ints repeats = one_or_more(call, "repeats");
  Tensor x = call.x();
  while (x.rank() < static_cast<int>(repeats.size())) x = expand_dims(x, 0);
  const int first = x.rank() - static_cast<int>(repeats.size());
  for (std::size_t i = 0; i < repeats.size(); ++i) {
    const int axis = first + static_cast<int>(i);
    if (repeats[i] < 0 || repeats[i] > kMostCopies)
      call.config.refuse("repeats must be from 0 to ", kMostCopies, ", got ", repeats[i]);
    if (repeats[i] != 1)
      x = repeats[i] ? concat(Tensors(static_cast<std::size_t>(repeats[i]), x), axis) : part_of(x, axis, 0, 0);
  }
  return x;
}

Tensor repeated(const KerasCall& call) {
  const Tensor x = call.config.has("axis") ? call.x() : reshape(call.x(), Ints{-1});
  const int axis = call.config.has("axis") ? call.axis() : 0;
  const std::int64_t size = x.shape()[axis];
  Ints counts = one_or_more(call, "repeats");
  if (counts.size() == 1) counts.assign(static_cast<std::size_t>(size), counts[0]);
  if (static_cast<std::int64_t>(counts.size()) != size)
    call.config.refuse(counts.size(), " repeats do not fit an axis of size ", size);
  std::vector<std::int32_t> rows;
  for (const std::int64_t count : counts)
    if (count < 0 || count > kMostCopies)
      call.config.refuse("repeats must be from 0 to ", kMostCopies, ", got ", count);
  for (std::size_t i = 0; i < counts.size(); ++i)
    for (std::int64_t k = 0; k < counts[i]; ++k) rows.push_back(static_cast<std::int32_t>(i));
  return gather(x, whole_numbers(rows), axis);
}

Tensor padded(const KerasCall& call) {
  const Json given = call.config.json().value.value("pad_width", Json());
  const Json pairs = given.is_number() ? Json::array({Json::array({given, given})}) : given;
  Ints widths;
  for (const Json& pair : pairs.is_array() ? pairs : Json::array()) {
    const bool fits = pair.is_array() && pair.size() == 2 && pair[0].is_number_integer() && pair[1].is_number_integer();
    if (!fits) call.config.refuse("pad_width must be pairs of integers, got ", shown(given));
    widths.push_back(pair[0].get<std::int64_t>()), widths.push_back(pair[1].get<std::int64_t>());
  }
  if (widths.size() == 2)
    for (int i = 1; i < call.x().rank(); ++i) widths.push_back(widths[0]), widths.push_back(widths[1]);
  const std::string mode = call.config.text("mode", "constant");
  if (mode == "reflect" || mode == "symmetric") return mirror_pad(call.x(), widths, mode);
  if (mode != "constant") call.config.refuse("mode must be constant, reflect or symmetric, got '", mode, "'");
  return pad(call.x(), widths, call.config.real("constant_values", 0.0));
}

Tensor rolled(const KerasCall& call) {
  if (call.config.has("axis")) return roll(call.x(), one_or_more(call, "shift"), call.axes());
  return reshape(roll(reshape(call.x(), Ints{-1}), one_or_more(call, "shift"), {0}), call.x().shape());
}

// --- Choosing ---

/// A part of one axis: begin, how many, step.
struct Part {
  std::int64_t begin, count, step;
};

Part sliced_part(const KerasCall& call, const Json& slice, std::int64_t size) {
  const Json& bounds = slice["config"];
  const auto bound = [&](const char* key, std::int64_t missing) {
    if (!bounds.contains(key) || bounds[key].is_null()) return missing;
    if (!bounds[key].is_number_integer()) call.config.refuse("slices need whole numbers, got ", shown(slice));
    return bounds[key].get<std::int64_t>();
  };
  const std::int64_t step = bound("step", 1);
  if (step == 0) call.config.refuse("a slice's step must not be 0");
  const std::int64_t least = step > 0 ? 0 : -1, most = step > 0 ? size : size - 1;  // as Python bounds them
  const auto inside = [&](const char* key, std::int64_t missing) {
    const std::int64_t at = bound(key, missing);
    return at == missing ? at : std::clamp<std::int64_t>(at < 0 ? at + size : at, least, most);
  };
  constexpr std::int64_t kMissing = std::numeric_limits<std::int64_t>::min();
  std::int64_t begin = inside("start", kMissing), end = inside("stop", kMissing);
  if (begin == kMissing) begin = step > 0 ? 0 : size - 1;
  if (end == kMissing) end = step > 0 ? size : -1;
  const std::int64_t way = step > 0 ? end - begin : begin - end, stride = std::abs(step);
  return {begin, way > 0 ? (way + stride - 1) / stride : 0, step};
}

/// x[:, 0, ..., 1:3]: slices, numbers, an ellipsis and new axes, in the order of the axes.
Tensor item(const KerasCall& call) {
  if (call.args.size() != 2) call.config.refuse("x[…] needs one index, got ", shown(call.args));
  const Json one = Json::array({call.args[1]});
  const Json& keys = call.args[1].is_array() ? call.args[1] : one;
  const auto is_ellipsis = [](const Json& key) {
    return key.is_object() && key.value("class_name", "") == "__ellipsis__";
  };
  const Shape& shape = call.x().shape();
  const auto taken = std::ranges::count_if(keys, [&](const Json& key) { return !key.is_null() && !is_ellipsis(key); });
  Ints begin, count, step, result;  // `result` is the shape without the axes that numbers picked
  const auto take = [&](const Part& part, bool stays) {
    begin.push_back(part.begin), count.push_back(part.count), step.push_back(part.step);
    if (stays) result.push_back(part.count);
  };
  const auto rest = [&](std::int64_t axes) {
    for (std::int64_t i = 0; i < axes; ++i) take({0, shape[static_cast<int>(begin.size())], 1}, true);
  };
  for (const Json& key : keys) {
    if (key.is_null()) {
      result.push_back(1);
      continue;
    }
    if (is_ellipsis(key)) {
      rest(shape.rank() - taken);
      continue;
    }
    if (static_cast<int>(begin.size()) >= shape.rank()) call.config.refuse("too many indices for ", shape);
    const std::int64_t size = shape[static_cast<int>(begin.size())];
    if (key.is_number_integer()) {
      const std::int64_t at = key.get<std::int64_t>() < 0 ? key.get<std::int64_t>() + size : key.get<std::int64_t>();
      if (at < 0 || at >= size)
        call.config.refuse("index ", key.get<std::int64_t>(), " is outside an axis of size ", size);
      take({at, 1, 1}, false);
    } else if (key.is_object() && key.value("class_name", "") == "__slice__" && key.contains("config")) {
      take(sliced_part(call, key, size), true);
    } else {
      call.config.refuse("the index ", shown(key), " is not supported in C++");
    }
  }
  rest(shape.rank() - static_cast<std::int64_t>(begin.size()));
  return reshape(strided_slice(call.x(), begin, count, step),
                 Shape(std::span<const std::int64_t>(result.data(), result.size())));
}

Tensor taken(const KerasCall& call) {
  const Tensor indices = cast(call.operand(1), DType::i32);
  const Tensor x = call.config.has("axis") ? call.x() : reshape(call.x(), Ints{-1});
  const int axis = call.config.has("axis") ? call.axis() : 0;
  const Tensor size = Tensor::scalar(static_cast<double>(x.shape()[axis]), DType::i32);
  return gather(x, where(less(indices, 0), indices + size, indices), axis);
}

Tensor taken_along(const KerasCall& call) {
  const Tensor indices = cast(call.operand(1), DType::i32);
  const bool flat = !call.config.has("axis");
  const Tensor x = flat ? reshape(call.x(), Ints{-1}) : call.x();
  const int axis = flat ? 0 : call.axis(), last = x.rank() - 1;
  const Tensor size = Tensor::scalar(static_cast<double>(x.shape()[axis]), DType::i32);
  const Tensor places = where(less(indices, 0), indices + size, indices);
  return along_last(places, axis, [&](const Tensor& at) { return gather(with_last(x, axis), at, last, last); });
}

/// x where column - row is at most (lower) or at least k, else 0.
template <bool kLower>
Tensor triangle(const KerasCall& call) {
  const Tensor& x = call.x();
  if (x.rank() < 2) call.config.refuse("matrices are needed, got ", x.shape());
  const auto rows = static_cast<double>(x.shape()[-2]), columns = static_cast<double>(x.shape()[-1]);
  const Tensor distance = range(0, columns) - expand_dims(range(0, rows), 1);
  const auto k = static_cast<double>(call.config.integer("k", 0));
  const Tensor limit = Tensor::scalar(k, DType::i32);
  return where(kLower ? less_equal(distance, limit) : greater_equal(distance, limit), x, zeros_like(x));
}

Tensor selected(const KerasCall& call) {
  const std::size_t count = call.args.empty() || !call.args[0].is_array() ? 0 : call.args[0].size();
  if (!count || call.inputs.size() != 2 * count + 1)
    call.config.refuse("as many choices as conditions and a default are needed, got ", call.inputs.size(), " operands");
  Tensor chosen = call.inputs.back();
  for (std::size_t i = count; i-- > 0;) {
    const auto [here, otherwise] = promoted(call.inputs[count + i], chosen);
    chosen = where(call.inputs[i], here, otherwise);
  }
  return chosen;
}

Tensor chosen(const KerasCall& call) {
  const auto [x, y] = promoted(call.input(1), call.input(2));
  return where(cast(call.input(0), DType::boolean), x, y);
}

Tensor sliced(const KerasCall& call) {
  if (call.args.size() < 2 || !call.args[1].is_array()) call.config.refuse("start_indices must be a list of integers");
  Ints begin, size = call.config.ints("shape");
  for (const Json& start : call.args[1]) {
    if (!start.is_number_integer()) call.config.refuse("start_indices must be integers, got ", shown(call.args[1]));
    begin.push_back(start.get<std::int64_t>());
  }
  return slice(call.x(), begin, size);
}

Tensor full_like(const KerasCall& call) {
  return broadcast_to(cast(call.input(1), call.dtype_or(call.x().dtype())), call.x().shape());
}

// --- Order ---

Tensor sorted_along(const KerasCall& call, Tensor (*order)(const Tensor&, bool)) {
  if (!call.config.has("axis") && call.config.is_null("axis")) return order(reshape(call.x(), Ints{-1}), false);
  return along_last(call.x(), call.axis(), [&](const Tensor& x) { return order(x, false); });
}

Tensors greatest(const KerasCall& call) {
  const TopK best = top_k(call.x(), call.config.integer("k"));
  return {best.values, cast(best.indices, DType::i32)};
}

/// Whether at most k - 1 scores of the row are above that of the target.
Tensor is_in_top(const KerasCall& call) {
  const Tensor& scores = call.input(1);
  const Tensor own = gather(scores, expand_dims(cast(call.x(), DType::i32), 1), 1, 1);
  const Tensor above = reduce_sum(cast(greater(scores, own), DType::i32), {1});
  return less(above, Tensor::scalar(call.config.real("k"), DType::i32));
}

Tensor places_in(const Tensor& sorted, const Tensor& values, bool right) {
  return reshape(searchsorted(sorted, reshape(values, Ints{-1}), right), values.shape());
}

Tensor hot(const KerasCall& call, std::int64_t axis) {
  const Tensor indices = is_integer(call.x().dtype()) ? call.x() : cast(call.x(), DType::i32);
  return one_hot(indices, call.config.integer("num_classes"), 1, 0, axis, call.dtype_or(DType::f32));
}

constexpr KerasFunction kRecords[] = {
    {"Reshape", reshaped},
    {"ExpandDims", expanded},
    {"Swapaxes", swapped},
    {"Moveaxis", moved},
    {"Rot90", rotated},
    {"Ravel", [](const KerasCall& c) { return reshape(c.x(), Ints{-1}); }},
    {"Squeeze", [](const KerasCall& c) { return squeeze(c.x(), c.axes()); }},
    {"Transpose", [](const KerasCall& c) { return transpose(c.x(), c.config.ints("axes", 0, Ints{})); }},
    {"BroadcastTo", [](const KerasCall& c) { return broadcast_to(c.x(), shape_of(c.config.ints("shape"))); }},
    {"Flip",
     [](const KerasCall& c) {
       Ints axes = c.axes();
       if (axes.empty()) {
         axes.resize(static_cast<std::size_t>(c.x().rank()));
         std::iota(axes.begin(), axes.end(), 0);
       }
       return reverse(c.x(), axes);
     }},
    {"Fliplr", [](const KerasCall& c) { return reverse(c.x(), {1}); }},
    {"Flipud", [](const KerasCall& c) { return reverse(c.x(), {0}); }},
    {"Stack", stacked},
    {"Hstack", joined<1, 1>},
    {"Vstack", joined<0, 2>},
    {"Dstack", joined<2, 3>},
    {"Concatenate", [](const KerasCall& c) { return concat(c.inputs, c.config.integer("axis", 0)); }},
    {"Append",
     [](const KerasCall& c) {
       return c.config.has("axis") ? concat(c.inputs, c.axis())
                                   : concat({reshape(c.x(), Ints{-1}), reshape(c.input(1), Ints{-1})}, 0);
     }},
    {"Split", [](const KerasCall& c) { return divided(c, c.axis(0)); }},
    {"ArraySplit", [](const KerasCall& c) { return divided(c, c.axis(0), true); }},
    {"Hsplit", [](const KerasCall& c) { return divided(c, c.x().rank() == 1 ? 0 : 1); }},
    {"Vsplit", [](const KerasCall& c) { return divided(c, 0); }},
    {"Dsplit", [](const KerasCall& c) { return divided(c, 2); }},
    {"Unstack", unstacked},
    {"Tile", tiled},
    {"Repeat", repeated},
    {"Pad", padded},
    {"Roll", rolled},
    {"GetItem", item},
    {"Take", taken},
    {"TakeAlongAxis", taken_along},
    {"Tril", triangle<true>},
    {"Triu", triangle<false>},
    {"Select", selected},
    {"Where", chosen},
    {"Slice", sliced},
    {"FullLike", full_like},
    {"ScatterUpdate",
     [](const KerasCall& c) {
       return tensor_scatter_nd_update(c.x(), cast(c.operand(1), DType::i32), cast(c.operand(2), c.x().dtype()));
     }},
    {"OnesLike", [](const KerasCall& c) { return cast(ones_like(c.x()), c.dtype_or(c.x().dtype())); }},
    {"ZerosLike", [](const KerasCall& c) { return cast(zeros_like(c.x()), c.dtype_or(c.x().dtype())); }},
    {"EmptyLike", [](const KerasCall& c) { return cast(zeros_like(c.x()), c.dtype_or(c.x().dtype())); }},
    {"Sort", [](const KerasCall& c) { return sorted_along(c, sort); }},
    {"Argsort", [](const KerasCall& c) { return cast(sorted_along(c, argsort), DType::i32); }},
    {"TopK", greatest},
    {"InTopK", is_in_top},
    {"Digitize", [](const KerasCall& c) { return places_in(cast(c.operand(1), c.x().dtype()), c.x(), true); }},
    {"SearchSorted",
     [](const KerasCall& c) {
       return places_in(c.operand(0), c.operand(1), c.config.text("side", "left") == "right");
     }},
    {"OneHot", [](const KerasCall& c) { return hot(c, c.config.integer("axis", -1)); }},
    {"MultiHot",
     [](const KerasCall& c) { return reduce_max(hot(c, c.config.integer("axis", -1)), {c.x().rank() > 1 ? 1 : 0}); }},
};

}  // namespace

std::span<const KerasFunction> array_op_layers() { return kRecords; }

}  // namespace tandem
