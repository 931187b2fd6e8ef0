// Ops that move elements: transposes, joins, blocks, margins, broadcasting, constants and ranges.
#include <algorithm>
#include <array>
#include <cstring>

#include "tandem/backend/opencl/array_kernels.h"
#include "tandem/backend/opencl/gemm.h"
#include "tandem/backend/opencl/kernels.h"
#include "tandem/backend/opencl/source.h"
#include "tandem/kernel/moved_pieces.h"
#include "tandem/op/ops.h"

namespace tandem::opencl {
namespace {

std::string_view bits_type(std::size_t bytes) {
  return bytes == 1 ? "uchar" : bytes == 2 ? "ushort" : bytes == 4 ? "uint" : "ulong";
}

/// Rows side by side in both operands are copied in vectors, and so are reversed ones and every second element; another
/// stride takes one element at a time.
std::string copy_source(std::size_t bytes) {
  return text(prelude(false), nest_source(2), "typedef ", bits_type(bytes), " E;\ntypedef ", bits_type(bytes),
              "8 E8;\n#define E8_anywhere ", bits_type(bytes), "8_anywhere\n", R"(
KERNEL copy(const Nest n, __global const E* x, const long x_offset, __global E* y, const long y_offset) {
  ITEM_ROWS {
    ROW_OFFSETS
    __global const E* from = x + x_offset + o0;
    __global E* to = y + y_offset + o1;
    const long s0 = n.inner[0], s1 = n.inner[1];
    long j = begin;
    if (s0 == 1 && s1 == 1) {
      for (; j + 8 <= end; j += 8) PUT8(E8, to + j, GET8(E8, from + j));
      for (; j < end; ++j) to[j] = from[j];
    } else if (s0 == 0 && s1 == 1) {
      const E same = from[0];
      for (; j + 8 <= end; j += 8) PUT8(E8, to + j, (E8)(same));
      for (; j < end; ++j) to[j] = same;
    } else if (s0 == -1 && s1 == 1) {
      for (; j + 8 <= end; j += 8) {
        const E8 v = GET8(E8, from - j - 7);
        PUT8(E8, to + j, EIGHT(E8, v.s7, v.s6, v.s5, v.s4, v.s3, v.s2, v.s1, v.s0));
      }
      for (; j < end; ++j) to[j] = from[-j];
    } else if (s0 == 2 && s1 == 1) {
      for (; j + 8 < end; j += 8) {  // not the last ones: what is read beyond them may not be there
        const E8 a = GET8(E8, from + 2 * j), b = GET8(E8, from + 2 * j + 8);
        PUT8(E8, to + j, EIGHT(E8, a.s0, a.s2, a.s4, a.s6, b.s0, b.s2, b.s4, b.s6));
      }
      for (; j < end; ++j) to[j] = from[2 * j];
    } else if (s1 == 1) {
      for (; j < end; ++j) to[j] = from[j * s0];
    } else {
      for (; j < end; ++j) to[j * s1] = from[j * s0];
    }
  }
}
)");
}

/// The axis along which elements lie side by side where they come from, when that is another than where they go to:
/// then a tile of both axes is turned at a time, so that whole cache lines are read and written. -1 when none, or when
/// one of them has less than `least` elements.
int turned_axis(const Axes& axes, std::int64_t least) {
  const std::size_t inner = axes.sizes.size() - 1;
  if (axes.strides[1][inner] != 1 || axes.strides[0][inner] <= 1 || axes.sizes[inner] < least) return -1;
  for (std::size_t d = 0; d < inner; ++d)
    if (axes.strides[0][d] == 1 && axes.sizes[d] >= least) return static_cast<int>(d);
  return -1;
}

/// The words of the struct below.
constexpr std::size_t kTilesWords = 6 + 3 * (kMaxRank - 2);
struct Tiles {
  std::vector<std::int64_t> words;
  std::int64_t items, batch = 1;
};

Tiles make_tiles(const Context& context, const Axes& axes, std::size_t turned) {
  constexpr double kTileElements = 16 * 16;
  const std::size_t inner = axes.sizes.size() - 1;
  const std::int64_t tiles = blocks(axes.sizes[turned], 16) * blocks(axes.sizes[inner], 16);
  Tiles t;
  for (std::size_t d = 0; d < inner; ++d)
    if (d != turned) t.batch *= axes.sizes[d];
  const std::int64_t per_item = std::clamp<std::int64_t>(context.elements_per_item(tiles * t.batch, kTileElements), 1,
                                                         std::max<std::int64_t>(tiles, 1));
  t.words = {axes.sizes[turned],     axes.sizes[inner], axes.strides[1][turned],
             axes.strides[0][inner], per_item,          static_cast<std::int64_t>(inner) - 1};
  t.items = blocks(tiles, per_item);
  for (const std::vector<std::int64_t>* values : {&axes.sizes, &axes.strides[0], &axes.strides[1]}) {
    std::size_t count = 0;
    for (std::size_t d = 0; d < inner; ++d) {
      if (d == turned) continue;
      t.words.push_back((*values)[d]);
      ++count;
    }
    for (; count < kMaxRank - 2; ++count) t.words.push_back(0);
  }
  return t;
}

std::string tiles_source(std::size_t bytes) {
  const std::string_view type = bits_type(bytes);
  return text(prelude(false), "typedef ", type, " E;\ntypedef E T_mem;\ntypedef E P;\ntypedef ", type,
              "8 P8;\n#define P8_anywhere ", type,
              "8_anywhere\n#define T_load8(x, i) GET8(P8, (x) + (i))\n#define AS_P8(v) (v)\n", kTurnText, R"(
// Axis 0 lies side by side in x, axis 1 in y; the other axes count the batch.
typedef struct { long n0, n1, y0, x1, per_item, rank; long size[6], x[6], y[6]; } Tiles;

KERNEL copy_tiles(const Tiles n, __global const E* x, const long x_offset, __global E* y, const long y_offset) {
  const long columns = (n.n1 + 15) / 16, first = ITEM * n.per_item, last = min(first + n.per_item, (n.n0 + 15) / 16 * columns);
  long x_matrix = x_offset, y_matrix = y_offset, rest = get_global_id(1);
  for (int d = (int)n.rank - 1; d >= 0; --d) {
    const long q = rest / n.size[d], at = rest - q * n.size[d];
    rest = q;
    x_matrix += at * n.x[d];
    y_matrix += at * n.y[d];
  }
  for (long tile = first; tile < last; ++tile) {
    const long i0 = tile / columns * 16, j0 = tile % columns * 16, from = x_matrix + j0 * n.x1 + i0, to = y_matrix + i0 * n.y0 + j0;
    const int rows = (int)min(16l, n.n0 - i0), width = (int)min(16l, n.n1 - j0);
    if (rows == 16 && width == 16) {
#pragma unroll 1
      for (int i = 0; i < 16; i += 8) {
        take_turned(x, from + i, n.x1, y + to + i * n.y0, n.y0);
        take_turned(x, from + i + 8 * n.x1, n.x1, y + to + i * n.y0 + 8, n.y0);
      }
      continue;
    }
#pragma unroll 1
    for (int i = 0; i < rows; ++i)
#pragma unroll 1
      for (int j = 0; j < width; ++j) y[to + i * n.y0 + j] = x[from + j * n.x1 + i];
  }
}
)");
}

/// Elements of any size: `same` has as many of them as eight bytes hold. 64 bytes at a time, which PoCL's processor
/// stores as one.
std::string fill_source() {
  return text(prelude(false), R"(
KERNEL fill(__global uchar* y, const ulong same, const long bytes, const long per_item) {
  long i = ITEM * per_item;
  const long end = min(bytes, i + per_item);
  for (; i + 64 <= end; i += 64) PUT_BYTES(y + i, (ulong8)(same));
#pragma unroll 1
  for (; i < end; ++i) y[i] = (uchar)(same >> (i % 8 * 8));
}
)");
}

StridedCopy make_copy(const KernelCall& call, const Shape& shape, const Strides& from, const Strides& to) {
  return {context_of(call), dtype_size(call.outputs[0].dtype()), join_axes(shape, std::array{from, to})};
}

Prepared prepare_transpose(const KernelCall& call) {
  const Shape out = call.outputs[0].shape();
  const auto perm = call.attr().ints("perm");
  Strides from{};
  for (int i = 0; i < out.rank(); ++i) {
    const int axis =
        perm.empty() ? out.rank() - 1 - i : normalize_axis("transpose", perm[static_cast<std::size_t>(i)], out.rank());
    from[static_cast<std::size_t>(i)] = call.inputs[0].strides[static_cast<std::size_t>(axis)];
  }
  return prepared([copy = make_copy(call, out, from, call.outputs[0].strides)](const KernelArgs& args) {
    copy.run(args.inputs[0], 0, args.outputs[0], 0);
  });
}

Prepared prepare_broadcast(const KernelCall& call) {
  const Shape out = call.outputs[0].shape();
  const Strides from = broadcast_strides(call.inputs[0], out);
  return prepared([copy = make_copy(call, out, from, call.outputs[0].strides)](const KernelArgs& args) {
    copy.run(args.inputs[0], 0, args.outputs[0], 0);
  });
}

Prepared prepare_concat(const KernelCall& call) {
  const auto axis =
      static_cast<std::size_t>(normalize_axis("concat", call.attr().integer("axis"), call.shape().rank()));
  const Strides out = call.outputs[0].strides;
  struct Part {
    StridedCopy copy;
    std::int64_t offset;
  };
  std::vector<Part> parts;
  std::int64_t begin = 0;
  for (const Operand& input : call.inputs) {
    parts.push_back({make_copy(call, input.shape(), input.strides, out), begin * out[axis]});
    begin += input.shape()[static_cast<int>(axis)];
  }
  return prepared([parts = std::move(parts)](const KernelArgs& args) {
    for (std::size_t i = 0; i < parts.size(); ++i)
      parts[i].copy.run(args.inputs[i], 0, args.outputs[0], parts[i].offset);
  });
}

Prepared prepare_slice(const KernelCall& call) {
  const Shape in = call.shape(), out = call.outputs[0].shape();
  const Strides from = call.inputs[0].strides;
  return prepared([=, copy = make_copy(call, out, from, call.outputs[0].strides)](const KernelArgs& args) {
    const auto begin = args.run_time.subspan(1);  // after their number
    std::int64_t offset = 0;
    for (int i = 0; i < in.rank(); ++i) {
      const std::int64_t at = begin[static_cast<std::size_t>(i)];
      if (at < 0 || at > in[i] - out[i])
        fail(ErrorCode::index_out_of_range, "slice: ", out[i], " elements from ", at, " in axis ", i, " are outside ",
             in);
      offset += at * from[static_cast<std::size_t>(i)];
    }
    copy.run(args.inputs[0], offset, args.outputs[0], 0);
  });
}

Prepared prepare_pad(const KernelCall& call) {
  Context& context = context_of(call);
  const Shape in = call.shape();
  const Strides to = call.outputs[0].strides;
  const auto paddings = call.attr().ints("paddings");
  std::int64_t offset = 0;
  for (int i = 0; i < in.rank(); ++i)
    offset += paddings[static_cast<std::size_t>(2 * i)] * to[static_cast<std::size_t>(i)];
  const TensorSpec spec = call.outputs[0].spec;
  return prepared([=, fill = Filling(context, spec),
                   copy = make_copy(call, in, call.inputs[0].strides, to)](const KernelArgs& args) {
    fill.run(args.outputs[0], std::bit_cast<double>(args.run_time[0]));
    copy.run(args.inputs[0], 0, args.outputs[0], offset);
  });
}

/// A copy for each product of the axes' pieces.
Prepared prepare_moving(const KernelCall& call) {
  const std::vector<MovedPieces> axes = moved_pieces(call);
  const Strides from = call.inputs[0].strides, to = call.outputs[0].strides;
  struct Part {
    StridedCopy copy;
    std::int64_t from, to;
  };
  std::vector<Part> parts;
  std::vector<std::size_t> at(axes.size(), 0);
  bool more = call.outputs[0].shape().elements() > 0;
  while (more) {
    Ints sizes;
    Strides steps = from;
    std::int64_t from_offset = 0, to_offset = 0;
    for (std::size_t i = 0; i < axes.size(); ++i) {
      const MovedPiece& piece = axes[i][at[i]];
      sizes.push_back(piece.length);
      steps[i] = from[i] * piece.step;
      from_offset += piece.from * from[i];
      to_offset += piece.to * to[i];
    }
    parts.push_back({make_copy(call, Shape(std::span<const std::int64_t>(sizes)), steps, to), from_offset, to_offset});
    more = false;
    for (std::size_t i = axes.size(); i-- > 0 && !more;) {
      at[i] = (at[i] + 1) % axes[i].size();
      more = at[i] != 0;
    }
  }
  return prepared([parts = std::move(parts)](const KernelArgs& args) {
    for (const Part& part : parts) part.copy.run(args.inputs[0], part.from, args.outputs[0], part.to);
  });
}

Prepared prepare_fill(const KernelCall& call) {
  return prepared([fill = Filling(context_of(call), call.outputs[0].spec)](const KernelArgs& args) {
    fill.run(args.outputs[0], std::bit_cast<double>(args.run_time[0]));
  });
}

/// Floats as TensorFlow makes them: start + i * delta in double, rounded once.
std::string range_source(DType dtype) {
  const bool floating = is_floating(dtype);
  return text(prelude(floating), kForEach, define_dtype("Y", dtype), "typedef ", floating ? "double" : "long", " N;\n",
              R"(
KERNEL range(__global Y_mem* y, const N start, const N delta, const long count, const long per_item) {
  FOR_EACH(i, count, per_item) Y_store(y, i, (Y_lane)(start + (N)i * delta));
}
)");
}

/// The same where there is no double: each number is the sum of two floats, 48 bits together.
std::string range_source_in_pairs(DType dtype) {
  return text(prelude(false), kForEach, define_dtype("Y", dtype), R"(
typedef struct { float high, low; } Pair;

static Pair sum(const Pair a, const Pair b) {
  const float s = a.high + b.high, t = s - a.high;
  const float rest = ((a.high - (s - t)) + (b.high - t)) + (a.low + b.low);
  Pair r;
  r.high = s + rest;
  r.low = rest - (r.high - s);
  return r;
}

static Pair times(const Pair a, const float b) {
  const float p = a.high * b, rest = fma(a.high, b, -p) + a.low * b;
  Pair r;
  r.high = p + rest;
  r.low = rest - (r.high - p);
  return r;
}

KERNEL range(__global Y_mem* y, const Pair start, const Pair delta, const long count, const long per_item) {
  FOR_EACH(i, count, per_item) {
    const Pair large = times(delta, (float)(i >> 24) * 16777216.0f), small = times(delta, (float)(i & 0xffffffl));
    Y_store(y, i, (Y_lane)sum(start, sum(large, small)).high);
  }
}
)");
}

struct FloatPair {
  explicit FloatPair(double value) : high(static_cast<float>(value)), low(static_cast<float>(value - high)) {}
  cl_float high, low;
};

Prepared prepare_range_in_pairs(const KernelCall& call) {
  Context& context = context_of(call);
  const std::int64_t count = call.outputs[0].shape().elements(), per_item = context.elements_per_item(count);
  const KernelFunction kernel = context.kernel(range_source_in_pairs(call.outputs[0].dtype()), "range");
  return prepared([=, &context](const KernelArgs& args) {
    const FloatPair start(std::bit_cast<double>(args.run_time[0])), delta(std::bit_cast<double>(args.run_time[1]));
    Launch(context, kernel)
        .buffer(args.outputs[0])
        .value(start)
        .value(delta)
        .value(count)
        .value(per_item)
        .run(blocks(count, per_item));
  });
}

Support range_supports(const KernelCall& call) {
  const bool floating = is_floating(call.outputs[0].dtype());
  return floating && !context_of(call).traits().fp64 ? no(kNoFloat64) : yes();
}

Support pairs_support(const KernelCall& call) {
  const DType dtype = call.outputs[0].dtype();
  return !is_floating(dtype) || dtype == DType::f64 ? no("pairs of floats stand for float32 and less, got ", dtype)
                                                    : yes();
}

Prepared prepare_range(const KernelCall& call) {
  Context& context = context_of(call);
  const DType dtype = call.outputs[0].dtype();
  const std::int64_t count = call.outputs[0].shape().elements(), per_item = context.elements_per_item(count);
  const KernelFunction kernel = context.kernel(range_source(dtype), "range");
  return prepared([=, &context](const KernelArgs& args) {
    const double start = std::bit_cast<double>(args.run_time[0]), delta = std::bit_cast<double>(args.run_time[1]);
    Launch launch(context, kernel);
    launch.buffer(args.outputs[0]);
    if (is_floating(dtype)) launch.value(start).value(delta);
    else launch.value(static_cast<std::int64_t>(start)).value(static_cast<std::int64_t>(delta));
    launch.value(count).value(per_item).run(blocks(count, per_item));
  });
}

Kernel copying(Prepared (*prepare)(const KernelCall&)) { return {.name = "opencl copy", .prepare = prepare}; }

}  // namespace

StridedCopy::StridedCopy(Context& context, std::size_t element_bytes, const Axes& axes) : context_(&context) {
  Nest nest = make_nest(axes, 2, context, 1);
  const KernelFunction copy = context.kernel(copy_source(element_bytes), "copy"),
                       copy_tiles = context.kernel(tiles_source(element_bytes), "copy_tiles");
  kernel_ = copy;
  items_ = nest.items;
  words_ = nest.words;
  constexpr std::int64_t kLeastTile = 8;
  const int turned = turned_axis(axes, kLeastTile);
  std::vector<std::int64_t> other(kTilesWords);  // of the kernel that another size may ask for: nothing to do
  if (turned >= 0) {
    Tiles tiles = make_tiles(context, axes, static_cast<std::size_t>(turned));
    kernel_ = copy_tiles;
    items_ = tiles.items;
    batch_ = tiles.batch;
    words_ = std::move(tiles.words);
    other = std::move(nest.words);
    other[0] = 0;  // no rows
  }
  context.warm(turned >= 0 ? copy : copy_tiles, [&](Launch& launch) {
    launch.bytes(other.data(), other.size() * sizeof(std::int64_t))
        .buffer(&context.error_words())
        .value(std::int64_t{0})
        .buffer(&context.error_words())
        .value(std::int64_t{0});
  });
}

void StridedCopy::run(const void* from, std::int64_t from_offset, void* to, std::int64_t to_offset) const {
  Launch(*context_, kernel_)
      .bytes(words_.data(), words_.size() * sizeof(std::int64_t))
      .buffer(from)
      .value(from_offset)
      .buffer(to)
      .value(to_offset)
      .run(items_, batch_);
}

Filling::Filling(Context& context, DType dtype, std::int64_t elements)
    : context_(&context),
      dtype_(dtype),
      elements_(elements),
      kernel_(context.kernel(fill_source(), "fill")) {}

void Filling::run(void* to, double value) const { run_bits(to, element_bits(dtype_, value).data()); }

void Filling::run_bits(void* to, const void* bits) const {
  constexpr std::int64_t kVector = 64;  // bytes
  const std::size_t size = dtype_size(dtype_);
  std::array<unsigned char, 8> same;
  for (std::size_t at = 0; at < same.size(); at += size) std::memcpy(&same[at], bits, size);
  const std::int64_t bytes = elements_ * static_cast<std::int64_t>(size), vectors = blocks(bytes, kVector);
  const std::int64_t per_item = context_->elements_per_item(vectors, kVector / sizeof(float)) * kVector;
  Launch(*context_, kernel_).buffer(to).value(same).value(bytes).value(per_item).run(blocks(bytes, per_item));
}

std::array<unsigned char, 8> element_bits(DType dtype, double value) {
  std::array<unsigned char, 8> bits{};
  visit_dtype(dtype, [&]<class T>(TypeTag<T>) {
    T element;
    if constexpr (std::is_same_v<T, bool>) element = value != 0;
    else if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) element = T(static_cast<float>(value));
    else element = static_cast<T>(value);
    std::memcpy(bits.data(), &element, sizeof(T));
  });
  return bits;
}

KernelList transpose_kernels() { return {copying(prepare_transpose)}; }
KernelList concat_kernels() { return {copying(prepare_concat)}; }
KernelList slice_kernels() { return {copying(prepare_slice)}; }
KernelList pad_kernels() { return {copying(prepare_pad)}; }
KernelList broadcast_to_kernels() { return {copying(prepare_broadcast)}; }
KernelList moving_kernels() { return {copying(prepare_moving)}; }
KernelList fill_kernels() { return {{.name = "opencl fill", .prepare = prepare_fill}}; }
KernelList range_kernels() {
  return {{.name = "opencl range", .supports = range_supports, .prepare = prepare_range},
          {.name = "opencl range in pairs", .supports = pairs_support, .prepare = prepare_range_in_pairs}};
}

}  // namespace tandem::opencl
