// Where kernels made of several loops get them from: generated code, or the tile interpreter.
#pragma once
#include <memory>
#include <string>

#include "tandem/backend/cpu/loop.h"

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
  std::vector<expr::Expr> in;
  for (std::size_t i = 0; i < inputs.size(); ++i) in.push_back(graph.input(static_cast<int>(i), expr::lane_of(inputs[i])));
  return expr::make_program(graph, inputs, {build(in)}, {output});
}

/// The dtype that holds a lane of `dtype` in memory: f32 for f16, i32 for i8, ….
DType lane_dtype(DType dtype);

/// Folds of `dtype` elements to their lane dtype.
FoldProgram sum_fold(DType dtype);
FoldProgram max_fold(DType dtype);

}  // namespace tandem::cpu
