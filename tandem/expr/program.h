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

/// Evaluates one element: the meaning of a program, against which the backends are tested. Inputs and outputs are
/// values of the lanes of their dtypes; what becomes of them in memory is said by load_value and store_value.
void evaluate(const Program& program, const ScalarValue* inputs, ScalarValue* outputs, std::uint64_t index = 0);

/// How memory is read and written: a boolean is any byte but 0 and written as 0 or 1, f32 lanes round to f16 and
/// bf16 to nearest even, i32 lanes wrap to i8 and u8.
ScalarValue load_value(DType dtype, const void* from);
void store_value(DType dtype, const ScalarValue& value, void* to);

}  // namespace tandem::expr
