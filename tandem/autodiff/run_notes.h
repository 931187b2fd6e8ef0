// What a thread ran op by op, as a graph: for whoever asks why, of code that cannot be traced.
//
//   RunNotes notes;
//   body();
//   std::cout << explain(notes).to_text();
#pragma once
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "tandem/autodiff/graph_function.h"
#include "tandem/core/write_journal.h"
#include "tandem/op/dispatcher.h"
#include "tandem/op/random_state.h"
#include "tandem/place/explanation.h"

namespace tandem {

/// Ops of this thread run as ever while it lives, and are noted. stop() ends that and gives variables and random
/// numbers back what they were before.
class RunNotes final : public Dispatcher {
 public:
  RunNotes();
  ~RunNotes() override;
  RunNotes(const RunNotes&) = delete;
  RunNotes& operator=(const RunNotes&) = delete;

  void run(OpCall& call) override;
  void stop();

  /// What was there before the ops ran are its parameters.
  const Graph& graph() const { return graph_; }
  /// By parameter: the device in whose own memory it lay; "" for the host's.
  const std::vector<std::string>& homes() const { return homes_; }
  /// By node; null for parameters.
  const std::vector<const Decision*>& decisions() const { return decisions_; }
  /// A traced function that was called meanwhile, by node.
  struct Inside {
    std::int32_t node = -1;
    std::shared_ptr<const GraphFunction> function;
    Explanation ops;  // as placed here
  };
  const std::vector<Inside>& inside() const { return inside_; }

 private:
  GraphValue value_of(const Tensor& tensor);

  Graph graph_;
  std::vector<std::string> homes_;
  std::vector<const Decision*> decisions_;
  std::vector<Inside> inside_;
  std::unordered_map<std::uint64_t, GraphValue> values_;  // by the number of the tensor: keeping tensors keeps memory
  bool noting_ = true;
  RandomState::Position numbers_;
  WriteJournal journal_;
  WriteJournal* outer_journal_ = nullptr;
};

}  // namespace tandem
