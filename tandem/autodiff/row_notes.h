// Notes which gradients are nothing but rows put where gather took them from: those of embeddings, tf.IndexedSlices.
#pragma once
#include <unordered_map>
#include <vector>

#include "tandem/op/dispatcher.h"

namespace tandem {

/// While it lives, ops of this thread pass through it; made before gradients are asked for.
class RowNotes final : public Dispatcher {
 public:
  /// The rows, and where each one belongs.
  struct Rows {
    Tensor values, indices;
  };
  using Lists = std::vector<std::vector<Rows>>;

  RowNotes() { DispatchStack::push(*this); }
  ~RowNotes() override { DispatchStack::remove(*this); }
  RowNotes(const RowNotes&) = delete;
  RowNotes& operator=(const RowNotes&) = delete;

  void run(OpCall& call) override;

  /// Null for a tensor that is something else.
  const std::vector<Rows>* of(const Tensor& tensor) const;
  /// One list a tensor; empty for one that is something else.
  Lists of_all(const Tensors& tensors) const;

 private:
  struct Note {
    Tensor whole;  // keeps the address from being used again
    std::vector<Rows> rows;
  };
  void note(const Tensor& whole, std::vector<Rows> rows) { notes_[whole.impl()] = {whole, std::move(rows)}; }

  std::unordered_map<const void*, Note> notes_;
};

}  // namespace tandem
