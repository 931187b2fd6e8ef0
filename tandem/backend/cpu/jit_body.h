// The straight-line code of one program: written once for each vector of an unrolled loop and once for its tail.
#pragma once
#include <functional>
#include <vector>

#include "tandem/backend/cpu/jit_memory.h"

namespace tandem::cpu {

/// Where a copy of the body gets what is not in the program.
struct BodySource {
  std::function<x86::Reg(int input)> load;
  x86::Gp index;  // position of the first lane's element; needed when the program reads it
  // Inputs that the code after the body still reads, and which therefore must not be overwritten.
  bool keep_inputs = false;
};

class Body {
 public:
  Body(VectorEmitter& emit, const expr::Program& program);

  /// Loads the constants that find room in registers, where `reserved` ones are taken by others and `copies` of the
  /// body run side by side.
  void hoist_constants(int reserved, int copies = 1);
  bool reads(int input) const;
  /// A value for every element of a row; stays in its register.
  void set_row_input(int input, const x86::Reg& value);

  using Results = std::vector<x86::Reg>;  // a register an output

  /// Writes the code for one vector. With `into`, the first output is put there.
  Results write(const BodySource& source, const x86::Reg& into = {});
  /// Writes several vectors, instruction by instruction in turn: each waits for its own chain only.
  std::vector<Results> write(const std::vector<BodySource>& sources);

  bool uses_index() const { return uses_index_; }
  /// Instructions of a copy, about.
  int length() const { return length_; }
  /// Vector registers that values of one copy take at most.
  int most_live() const;

 private:
  struct Copy {
    const BodySource& source;
    std::vector<x86::Reg> values;  // a node
  };
  Arg argument(std::int32_t node, std::int32_t user, Copy& copy);
  void write_node(std::int32_t node, Copy& copy, const x86::Reg& into);
  Results results(Copy& copy);
  std::vector<std::int32_t> lend_constants(std::int32_t node);
  void choose_divisions();

  VectorEmitter& emit_;
  const expr::Program& program_;
  std::vector<std::int32_t> same_;      // the node whose register a node shares: bitcasts do nothing
  std::vector<std::int32_t> last_use_;  // the last node that reads it; the node count when it is an output
  std::vector<int> uses_;
  std::vector<x86::Reg> resident_;      // registers that outlive a copy: constants and inputs of a row
  std::vector<bool> by_products_;       // quotients that are not left to the unit for them
  std::int32_t writes_into_ = -1;       // the node that may write to the caller's register directly
  bool uses_index_ = false;
  int length_ = 0;
};

}  // namespace tandem::cpu
