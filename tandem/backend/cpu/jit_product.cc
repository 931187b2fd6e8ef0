#include "tandem/backend/cpu/jit_product.h"

#include <cstddef>

#include "tandem/backend/cpu/jit_body.h"
#include "tandem/base/text.h"

namespace tandem::cpu {
namespace {

using asmjit::imm;
using asmjit::Label;

class TileWriter {
 public:
  TileWriter(x86::Compiler& cc, const TileShape& shape, const TileEpilogue& epilogue, JitTarget target)
      : cc_(cc),
        shape_(shape),
        epilogue_(epilogue),
        emit_(cc, target, sizeof(float)) {
    if (epilogue.program) body_.emplace(emit_, *epilogue.program);
  }

  /// Why what follows the product cannot be done beside the sums; empty when it can.
  std::string crowded() const {
    if (!body_) return {};
    if (body_->uses_index()) return "what follows the product asks for positions";
    const int room = emit_.wide() ? 6 : 3;  // registers that the widest tiles leave
    return body_->most_live() <= room ? "" : "what follows the product needs more registers than a tile leaves";
  }

  void write() {
    begin();
    const Label tile = cc_.newLabel();
    cc_.bind(tile);
    write_sum();
    write_results();
    next_tile(tile);
    cc_.endFunc();
  }

 private:
  /// Rows that one address reaches: itself and two strides beyond.
  static constexpr int kReach = 3;

  void begin() {
    args_ = emit_.begin_function();
    a_step_ = cc_.newInt64("a_step");
    cc_.mov(a_step_, shape_.transposed_a ? field(args_, offsetof(ProductTileArgs, a_depth))
                                         : field(args_, offsetof(ProductTileArgs, a_row)));
    b_step_ = cc_.newInt64("b_step");
    cc_.mov(b_step_, field(args_, offsetof(ProductTileArgs, b_depth)));
    const int reached = shape_.transposed_a ? 1 : (shape_.rows + kReach - 1) / kReach;
    for (int i = 0; i < reached; ++i) a_.push_back(cc_.newUIntPtr());
    if (shape_.partial) {
      const x86::Gp count = cc_.newInt64("count");
      cc_.mov(count, field(args_, offsetof(ProductTileArgs, last_columns)));
      tail_ = make_tail(emit_, count);
    }
    for (int i = 0; i < shape_.rows * shape_.vectors; ++i) sums_.push_back(emit_.new_vector());
  }

  const Tail* tail_of(int vector) const { return shape_.partial && vector == shape_.vectors - 1 ? &tail_ : nullptr; }

  /// The element of `a` in a row of the tile, at the current depth.
  x86::Mem a_of(int row) const {
    if (shape_.transposed_a) return x86::dword_ptr(a_[0], row * static_cast<int>(sizeof(float)));
    const x86::Gp& base = a_[static_cast<std::size_t>(row / kReach)];
    switch (row % kReach) {
      case 0: return x86::dword_ptr(base);
      case 1: return x86::dword_ptr(base, a_step_);
      default: return x86::dword_ptr(base, a_step_, 1);
    }
  }

  void write_sum() {
    const x86::Gp b = cc_.newUIntPtr("b"), depth = cc_.newInt64("depth");
    cc_.mov(a_[0], field(args_, offsetof(ProductTileArgs, a)));
    for (std::size_t i = 1; i < a_.size(); ++i) {
      cc_.lea(a_[i], x86::ptr(a_[i - 1], a_step_, 1));
      cc_.add(a_[i], a_step_);
    }
    cc_.mov(b, field(args_, offsetof(ProductTileArgs, b)));
    cc_.mov(depth, field(args_, offsetof(ProductTileArgs, depth)));
    for (const x86::Vec& sum : sums_) cc_.vxorps(sum, sum, sum);
    const Label step = cc_.newLabel();
    cc_.bind(step);
    const std::size_t mark = emit_.mark();
    std::vector<x86::Vec> columns;
    for (int v = 0; v < shape_.vectors; ++v)
      columns.push_back(load(emit_, DType::f32, x86::ptr(b, v * emit_.vector_bytes()), tail_of(v)).as<x86::Vec>());
    for (int row = 0; row < shape_.rows; ++row) {
      if (emit_.wide() && shape_.vectors == 1) {  // the element of a is read by its only product
        cc_.vfmadd231ps(sum_of(row, 0), columns[0], a_of(row)._1to16());
        continue;
      }
      const std::size_t before = emit_.mark();
      const x86::Vec factor = load_scalar(emit_, DType::f32, a_of(row)).as<x86::Vec>();
      for (int v = 0; v < shape_.vectors; ++v)
        cc_.vfmadd231ps(sum_of(row, v), factor, columns[static_cast<std::size_t>(v)]);
      emit_.release_since(before);
    }
    emit_.release_since(mark);
    for (const x86::Gp& a : a_) {
      if (shape_.transposed_a) cc_.add(a, a_step_);
      else cc_.add(a, imm(sizeof(float)));
    }
    cc_.add(b, b_step_);
    cc_.dec(depth);
    cc_.jnz(step);
  }

  const x86::Vec& sum_of(int row, int vector) const {
    return sums_[static_cast<std::size_t>(row * shape_.vectors + vector)];
  }

  bool is_single(std::size_t input) const { return epilogue_.scalars >> input & 1; }

  /// Addresses are kept in the arguments between tiles: the sum needs the registers.
  void write_results() {
    const std::size_t inputs = body_ ? epilogue_.program->inputs.size() : 1,
                      outputs = body_ ? epilogue_.program->outputs.size() : 1;
    std::vector<x86::Gp> in(inputs), out(outputs);
    for (std::size_t i = 1; i < inputs; ++i)
      cc_.mov(in[i] = cc_.newUIntPtr(), field(args_, offsetof(ProductTileArgs, inputs), i));
    for (std::size_t k = 0; k < outputs; ++k)
      cc_.mov(out[k] = cc_.newUIntPtr(), field(args_, offsetof(ProductTileArgs, outputs), k));
    for (int row = 0; row < shape_.rows; ++row) {
      for (int v = 0; v < shape_.vectors; ++v) write_vector(row, v, in, out);
      for (std::size_t i = 1; i < inputs; ++i)
        if (!is_single(i)) cc_.add(in[i], field(args_, offsetof(ProductTileArgs, input_rows), i));
      for (std::size_t k = 0; k < outputs; ++k)
        cc_.add(out[k], field(args_, offsetof(ProductTileArgs, output_rows), k));
    }
    for (std::size_t i = 1; i < inputs; ++i) cc_.mov(field(args_, offsetof(ProductTileArgs, inputs), i), in[i]);
    for (std::size_t k = 0; k < outputs; ++k) cc_.mov(field(args_, offsetof(ProductTileArgs, outputs), k), out[k]);
  }

  void write_vector(int row, int v, const std::vector<x86::Gp>& in, const std::vector<x86::Gp>& out) {
    const auto at = [&](const x86::Gp& base, DType dtype) {
      return x86::ptr(base, v * emit_.lanes() * static_cast<int>(dtype_size(dtype)));
    };
    if (!body_) return store(emit_, DType::f32, at(out[0], DType::f32), sum_of(row, v), tail_of(v));
    const std::size_t mark = emit_.mark();
    BodySource source;
    source.keep_inputs = true;  // sums have registers of their own
    source.load = [&](int i) -> x86::Reg {
      if (i == 0) return sum_of(row, v);
      const DType dtype = epilogue_.program->inputs[static_cast<std::size_t>(i)];
      const x86::Gp& base = in[static_cast<std::size_t>(i)];
      return is_single(static_cast<std::size_t>(i)) ? load_scalar(emit_, dtype, x86::ptr(base))
                                                    : load(emit_, dtype, at(base, dtype), tail_of(v));
    };
    const Body::Results results = body_->write(source);
    for (std::size_t k = 0; k < results.size(); ++k) {
      const DType dtype = epilogue_.program->outputs[k].dtype;
      store(emit_, dtype, at(out[k], dtype), results[k], tail_of(v));
    }
    emit_.release_since(mark);
  }

  void next_tile(const Label& tile) {
    const x86::Gp a_tile = cc_.newInt64();
    cc_.imul(a_tile, field(args_, offsetof(ProductTileArgs, a_row)), imm(shape_.rows));
    cc_.add(field(args_, offsetof(ProductTileArgs, a)), a_tile);
    cc_.dec(field(args_, offsetof(ProductTileArgs, tiles)));
    cc_.jnz(tile);
  }

  x86::Compiler& cc_;
  const TileShape shape_;
  const TileEpilogue& epilogue_;
  VectorEmitter emit_;
  std::optional<Body> body_;
  x86::Gp args_, a_step_, b_step_;
  std::vector<x86::Gp> a_;  // addresses a few rows apart, moving along the depth
  std::vector<x86::Vec> sums_;
  Tail tail_;
};

/// Zen 4 multiplies 512 bits in two halves and loads them one at a time, but two of 256 bits at once: with a single
/// vector of columns, where every product needs a load, half vectors are faster (1024 x 64 x 16: 114 beside 86
/// GFLOP/s).
bool halves_vectors() {
  const asmjit::CpuInfo& cpu = asmjit::CpuInfo::host();
  constexpr std::uint32_t kZen4Family = 25;
  return cpu.isVendor("AMD") && cpu.familyId() == kZen4Family;
}

}  // namespace

TileLimits tile_limits(std::int64_t columns, std::string& refusal) {
  JitTarget target = current_target(refusal);
  if (target == JitTarget::avx512 && columns <= kNarrowColumns && halves_vectors()) target = JitTarget::avx2;
  // Sums, a row of b and one element of a: 24 + 4 + 1 of 32 registers, 12 + 2 + 1 and a mask of 16. With a single
  // vector sixteen rows: the line of b that each step reads serves them all, and of a transposed a they are a line.
  if (target == JitTarget::avx512) return {.target = target, .lanes = 16, .vectors = 4, .rows = {0, 16, 12, 8, 6}};
  return {.target = target, .lanes = 8, .vectors = 2, .rows = {0, 8, 6}};
}

JitWriter tile_writer(const TileShape& shape, const TileEpilogue& epilogue, JitTarget target) {
  return [shape, &epilogue, target](x86::Compiler& cc) -> std::string {
    int lane_bytes = sizeof(float);
    if (epilogue.program)
      if (std::string why = unsupported(*epilogue.program, target, lane_bytes); !why.empty()) return why;
    if (lane_bytes != sizeof(float)) return "what follows the product has lanes of 64 bits";
    TileWriter writer(cc, shape, epilogue, target);
    std::string why = writer.crowded();
    if (why.empty()) writer.write();
    return why;
  };
}

std::shared_ptr<const JitCode> tile_code(const TileShape& shape, const TileEpilogue& epilogue, JitTarget target,
                                         std::string& refusal) {
  refusal.clear();
  const std::string key =
      text("P", static_cast<int>(target), ":", shape.rows, "x", shape.vectors, shape.partial ? "p" : "",
           shape.transposed_a ? "t" : "", ":", epilogue.scalars, ":", epilogue.program ? epilogue.program->key() : "");
  return cached_code(key, tile_writer(shape, epilogue, target), refusal);
}

}  // namespace tandem::cpu
