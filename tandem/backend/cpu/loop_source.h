// Where kernels made of several loops get them from: generated code, or the tile interpreter.
#pragma once
#include <memory>
#include <string>

#include "tandem/backend/cpu/loop.h"
#include "tandem/kernel/fold_kind.h"
#include "tandem/kernel/kernel.h"

namespace tandem::cpu {

/// Collects loops and folds of one kind; the first refusal is remembered.
class LoopSource {
 public:
  explicit LoopSource(bool generated) : generated_(generated) {}
  std::shared_ptr<const Loop> loop(const expr::Program& program, ScalarInputs scalars);
  std::shared_ptr<const Fold> fold(const FoldProgram& program);
  const std::string& refusal() const { return refusal_; }

 private:
  bool generated_;
  std::string refusal_;
};

/// Programs from a lambda over expressions: `build(graph, in)` gets one Expr an input, already in the lanes of
/// its dtype, and returns the result.
template <class F>
expr::Program program(const std::vector<DType>& inputs, DType output, F build) {
  expr::Graph graph;
  graph.compute_as(output);
  std::vector<expr::Expr> in;
  for (std::size_t i = 0; i < inputs.size(); ++i)
    in.push_back(graph.input(static_cast<int>(i), expr::lane_of(inputs[i])));
  return expr::make_program(graph, inputs, {build(in)}, {output});
}

inline Support any_call(const KernelCall&) { return yes(); }

/// A kernel in its two forms. `kMakeParts(call, source)` gets the loops and folds it is made of; Body(call, parts) is
/// the prepared kernel; `kCheck(call)` may refuse before.
template <auto kMakeParts, class Body, Support (*kCheck)(const KernelCall&) = any_call>
struct TwoForms {
  template <bool kGenerated>
  static Support supports(const KernelCall& call) {
    if (Support support = kCheck(call); !support) return support;
    LoopSource source(kGenerated);
    kMakeParts(call, source);
    return source.refusal().empty() ? yes() : no(source.refusal());
  }
  template <bool kGenerated>
  static Prepared prepare(const KernelCall& call) {
    LoopSource source(kGenerated);
    return std::make_unique<Body>(call, kMakeParts(call, source));
  }
  static KernelList kernels(std::string_view generated = "jit", std::string_view interpreted = "tiles") {
    return {{.name = generated, .supports = supports<true>, .prepare = prepare<true>},
            {.name = interpreted, .supports = supports<false>, .prepare = prepare<false>}};
  }
};

/// The dtype that holds a lane of `dtype` in memory: f32 for f16, i32 for i8, ….
DType lane_dtype(DType dtype);

/// The dtype in which elements are folded: their lane's; 64 bits for means of integers, whose sum need not fit where
/// the mean does.
DType fold_lane(FoldKind kind, DType dtype);

/// Folds of `dtype` elements to the dtype they are folded in.
FoldProgram sum_fold(DType dtype);
FoldProgram max_fold(DType dtype);
FoldProgram fold_of(FoldKind kind, DType dtype);
/// How two lane values become one.
expr::Expr fold_combine(FoldKind kind, expr::Expr a, expr::Expr b);

}  // namespace tandem::cpu
