// What variables held before work that may have to be done again, so that it can begin anew with the same values.
#pragma once
#include <vector>

#include "tandem/core/cell.h"

namespace tandem {

/// While it is in force on a thread, it notes what every variable held before the thread replaced it for the first
/// time. It holds these values, so that nothing is computed over their bytes.
class WriteJournal {
 public:
  /// Null: none is in force.
  static WriteJournal*& current();
  /// Called by whoever replaces a variable, before that; the cell's locks are held.
  static void note(const Ref<Cell>& cell) {
    if (current()) [[unlikely]]
      current()->keep(cell);
  }

  /// Gives all variables back what they held. It can be used again.
  void undo();
  /// What the variables hold now.
  std::vector<Tensor> values() const;

 private:
  struct Entry {
    Ref<Cell> cell;
    Tensor before;
  };
  void keep(const Ref<Cell>& cell);

  std::vector<Entry> entries_;
};

}  // namespace tandem
