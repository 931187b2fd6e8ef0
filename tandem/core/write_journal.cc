#include "tandem/core/write_journal.h"

#include <algorithm>

namespace tandem {

WriteJournal*& WriteJournal::current() {
  thread_local WriteJournal* journal = nullptr;
  return journal;
}

void WriteJournal::keep(const Ref<Cell>& cell) {
  if (std::ranges::find(entries_, cell, &Entry::cell) == entries_.end()) entries_.push_back({cell, cell->value});
}

void WriteJournal::undo() {
  for (Entry& entry : entries_) {
    const std::lock_guard writing(entry.cell->writing);
    const std::lock_guard lock(entry.cell->mutex);
    entry.cell->value = std::move(entry.before);
  }
  entries_.clear();
}

std::vector<Tensor> WriteJournal::values() const {
  std::vector<Tensor> out;
  for (const Entry& entry : entries_) out.push_back(entry.cell->read());
  return out;
}

}  // namespace tandem
