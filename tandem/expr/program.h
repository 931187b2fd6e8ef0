// A loop body ready for a backend: formula nodes with the dtypes they load and store.
#pragma once
#include <string>
#include <vector>

#include "tandem/expr/formula.h"

namespace tandem::expr {

struct Program {
  struct Output {
    std::int32_t node;
    DType dtype;
  };
  std::vector<Node> nodes;      // evaluation order; only what an output needs
  std::vector<DType> inputs;    // how input i is stored in memory
  std::vector<Output> outputs;  // what is stored, and as which dtype

  /// Equal programs have equal keys: the name of compiled code in caches.
  std::string key() const;
  /// One line a node, for people.
  std::string to_string() const;
};

/// Builds the program of `formula`: loads each input as its dtype, converts it to the lanes of `compute`
/// (masks stay masks), and stores result k as outputs[k].
Program make_program(const Formula& formula, const std::vector<DType>& inputs, DType compute,
                     const std::vector<DType>& outputs);

/// Builds a program from a graph whose inputs are loaded as `inputs`; drops nodes no output needs.
Program make_program(const Graph& graph, std::vector<DType> inputs, const std::vector<Expr>& results,
                     const std::vector<DType>& outputs);

/// Evaluates one element: the meaning of a program, against which the backends are tested.
void evaluate(const Program& program, const ScalarValue* inputs, ScalarValue* outputs, std::uint64_t index = 0);

}  // namespace tandem::expr
