// A fold of rows of any length: of those longer than a fold's tile by their tiles' values, in order.
#pragma once
#include <initializer_list>

#include "tandem/backend/cpu/loop_source.h"

namespace tandem::cpu {

/// Sums, or largest values, of rows that lie side by side. Without a fold where the source refused one.
class RowFold {
 public:
  RowFold() = default;
  /// `kind`: how the program combines two values; sum or max.
  RowFold(LoopSource& source, FoldKind kind, const FoldProgram& program);
  /// One lane value a row goes to `out`.
  void run(std::initializer_list<const void*> inputs, std::int64_t rows, std::int64_t length, void* out) const;

 private:
  void fold_tiles(FoldArgs args, std::int64_t length, char* out) const;

  std::shared_ptr<const Fold> fold_;
  FoldKind kind_ = FoldKind::sum;
  std::vector<std::int64_t> elements_;  // bytes of each input's
  std::int64_t lane_ = 0;               // bytes
};

}  // namespace tandem::cpu
