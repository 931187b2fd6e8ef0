#include <cstring>

#include "tandem/backend/cpu/reference/access.h"
#include "tandem/backend/cpu/reference/reference.h"
#include "tandem/kernel/around_axis.h"
#include "tandem/kernel/gather_sizes.h"
#include "tandem/kernel/moved_pieces.h"

namespace tandem::cpu {
namespace {

/// Copies element `from` of `in` to element `to` of `out`, whatever its dtype.
void copy_element(void* out, std::int64_t to, const void* in, std::int64_t from, std::size_t size) {
  std::memcpy(static_cast<char*>(out) + static_cast<std::size_t>(to) * size,
              static_cast<const char*>(in) + static_cast<std::size_t>(from) * size, size);
}

Prepared prepare_transpose(const KernelCall& call) {
  const Shape out = call.outputs[0].shape();
  const auto perm = call.attr().ints("perm");
  Strides strides{};
  for (int i = 0; i < out.rank(); ++i) {
    const int axis = perm.empty() ? out.rank() - 1 - i : normalize_axis("transpose", perm[i], out.rank());
    strides[i] = call.inputs[0].strides[axis];
  }
  return prepared([=, size = dtype_size(call.dtype())](const KernelArgs& args) {
    std::int64_t at = 0;
    for_each_position(out, [&](const Position& p) {
      copy_element(args.outputs[0], at++, args.inputs[0], offset(strides, p, out.rank()), size);
    });
  });
}

Prepared prepare_concat(const KernelCall& call) {
  const int axis = normalize_axis("concat", call.attr().integer("axis"), call.shape().rank());
  std::vector<Operand> inputs(call.inputs.begin(), call.inputs.end());
  const Strides out = call.outputs[0].strides;
  return prepared([=, size = dtype_size(call.dtype())](const KernelArgs& args) {
    std::int64_t begin = 0;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const int rank = inputs[i].shape().rank();
      for_each_position(inputs[i].shape(), [&](const Position& p) {
        copy_element(args.outputs[0], offset(out, p, rank) + begin * out[axis], args.inputs[i],
                     offset(inputs[i].strides, p, rank), size);
      });
      begin += inputs[i].shape()[axis];
    }
  });
}

Prepared prepare_slice(const KernelCall& call) {
  const Shape in = call.shape(), out = call.outputs[0].shape();
  const Strides strides = call.inputs[0].strides;
  return prepared([=, size = dtype_size(call.dtype())](const KernelArgs& args) {
    const auto begin = args.run_time.subspan(1);  // after their number
    std::int64_t base = 0;
    for (int i = 0; i < in.rank(); ++i) {
      if (begin[i] < 0 || begin[i] > in[i] - out[i])
        fail(ErrorCode::index_out_of_range, "slice: ", out[i], " elements from ", begin[i], " in axis ", i,
             " are outside ", in);
      base += begin[i] * strides[i];
    }
    std::int64_t at = 0;
    for_each_position(out, [&](const Position& p) {
      copy_element(args.outputs[0], at++, args.inputs[0], base + offset(strides, p, out.rank()), size);
    });
  });
}

/// How gather and its gradient see any shape.
struct Gather : GatherSizes {
  std::int64_t index_of(const void* indices, std::int64_t i) const {
    const std::int64_t value = index_at(indices, index, i);
    if (value < 0 || value >= size)
      fail(ErrorCode::index_out_of_range, "gather: index ", value, " at position ", i, " is outside an axis of size ",
           size);
    return value;
  }
  /// Calls body(element of params, element of the gathered tensor) for each.
  template <class F>
  void for_each(const void* indices, F body) const {
    for (std::int64_t b = 0; b < blocks(); ++b)
      for (std::int64_t i = 0; i < count; ++i)
        for (std::int64_t k = 0, at = index_of(indices, first_index(b) + i); k < inner; ++k)
          body((b * size + at) * inner + k, (b * count + i) * inner + k);
  }
};

Prepared prepare_gather(const KernelCall& call) {
  return prepared(
      [g = Gather{gather_sizes(call, call.shape())}, size = dtype_size(call.dtype())](const KernelArgs& args) {
        g.for_each(args.inputs[1], [&](std::int64_t from, std::int64_t to) {
          copy_element(args.outputs[0], to, args.inputs[0], from, size);
        });
      });
}

template <class T>
Prepared prepare_gather_grad(const KernelCall& call) {
  const Shape params = call.outputs[0].shape();
  return prepared([g = Gather{gather_sizes(call, params)}, size = params.elements()](const KernelArgs& args) {
    std::vector<Wide<T>> sums(static_cast<std::size_t>(size), 0);
    g.for_each(args.inputs[1], [&](std::int64_t to, std::int64_t from) {
      sums[static_cast<std::size_t>(to)] += widen(args.input<T>()[from]);
    });
    for (std::int64_t i = 0; i < size; ++i) args.output<T>()[i] = narrow<T>(sums[static_cast<std::size_t>(i)]);
  });
}

template <class T>
Prepared prepare_one_hot(const KernelCall& call) {
  const Shape out = call.outputs[0].shape();
  const int axis = normalize_axis("one_hot", call.attr().integer("axis"), out.rank());
  return prepared(
      [=, depth = out[axis], inner = around_axis(out, axis).inner, dtype = call.dtype()](const KernelArgs& args) {
        const T on = narrow<T>(std::bit_cast<double>(args.run_time[0])),
                off = narrow<T>(std::bit_cast<double>(args.run_time[1]));
        for (std::int64_t i = 0; i < out.elements(); ++i) {
          const std::int64_t position = i / inner % depth, from = i / (inner * depth) * inner + i % inner;
          args.output<T>()[i] = index_at(args.inputs[0], dtype, from) == position ? on : off;
        }
      });
}

template <class T>
Prepared prepare_pad(const KernelCall& call) {
  const Shape in = call.shape(), out = call.outputs[0].shape();
  const Strides from = call.inputs[0].strides, to = call.outputs[0].strides;
  const auto paddings = call.attr().ints("paddings");
  std::int64_t base = 0;
  for (int i = 0; i < in.rank(); ++i) base += paddings[2 * i] * to[i];
  return prepared([=](const KernelArgs& args) {
    std::fill_n(args.output<T>(), out.elements(), narrow<T>(std::bit_cast<double>(args.run_time[0])));
    for_each_position(in, [&](const Position& p) {
      args.output<T>()[base + offset(to, p, in.rank())] = args.input<T>()[offset(from, p, in.rank())];
    });
  });
}

Prepared prepare_broadcast(const KernelCall& call) {
  const Shape out = call.outputs[0].shape();
  const Strides strides = broadcast_strides(call.inputs[0], out);
  return prepared([=, size = dtype_size(call.dtype())](const KernelArgs& args) {
    std::int64_t at = 0;
    for_each_position(out, [&](const Position& p) {
      copy_element(args.outputs[0], at++, args.inputs[0], offset(strides, p, out.rank()), size);
    });
  });
}

/// Index i of an axis made of pieces comes from here.
std::int64_t source_of(const MovedPieces& pieces, std::int64_t i) {
  for (const MovedPiece& piece : pieces)
    if (i < piece.to + piece.length) return piece.from + (i - piece.to) * piece.step;
  return 0;
}

Prepared prepare_moving(const KernelCall& call) {
  const Shape out = call.outputs[0].shape();
  const Strides strides = call.inputs[0].strides;
  return prepared([=, axes = moved_pieces(call), size = dtype_size(call.dtype())](const KernelArgs& args) {
    std::int64_t at = 0;
    for_each_position(out, [&](const Position& p) {
      Position from = p;
      for (std::size_t i = 0; i < axes.size(); ++i) from[i] = source_of(axes[i], p[i]);
      copy_element(args.outputs[0], at++, args.inputs[0], offset(strides, from, out.rank()), size);
    });
  });
}

}  // namespace

Kernel reference_moving() { return {.name = "reference", .prepare = prepare_moving}; }
Kernel reference_transpose() { return {.name = "reference", .prepare = prepare_transpose}; }
Kernel reference_concat() { return {.name = "reference", .prepare = prepare_concat}; }
Kernel reference_slice() { return {.name = "reference", .prepare = prepare_slice}; }
Kernel reference_gather() { return {.name = "reference", .prepare = prepare_gather}; }
Kernel reference_broadcast_to() { return {.name = "reference", .prepare = prepare_broadcast}; }
Kernel reference_gather_grad() {
  return {.name = "reference", .prepare = [](const KernelCall& call) {
            return by_dtype(call.dtype(),
                            [&](auto tag) { return prepare_gather_grad<typename decltype(tag)::type>(call); });
          }};
}
Kernel reference_one_hot() {
  return {.name = "reference", .prepare = [](const KernelCall& call) {
            return by_dtype(call.outputs[0].dtype(),
                            [&](auto tag) { return prepare_one_hot<typename decltype(tag)::type>(call); });
          }};
}
Kernel reference_pad() {
  return {.name = "reference", .prepare = [](const KernelCall& call) {
            return by_dtype(call.dtype(), [&](auto tag) { return prepare_pad<typename decltype(tag)::type>(call); });
          }};
}

}  // namespace tandem::cpu
