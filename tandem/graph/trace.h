// A trace: a dispatcher that runs nothing and writes every op down as a node of a graph.
#pragma once
#include <unordered_map>
#include <utility>
#include <vector>

#include "tandem/graph/graph.h"
#include "tandem/op/dispatcher.h"
#include "tandem/op/open_size.h"
#include "tandem/op/shared_draws.h"

namespace tandem {

struct SizesInside;  // tandem/graph/open_graph.h

/// Recording begins with the constructor and ends with finish() or the destructor. Tensors met inside that the trace
/// did not make are captured: those with a value as constants, those of an enclosing trace as further parameters.
class Trace final : public Dispatcher {
 public:
  /// `open`: numbers stand for sizes that are not known (tandem/op/open_size.h), and whatever would lose track of them
  /// throws cannot_trace; it says what to do with ops made of graphs. A trace inside an open one is open.
  explicit Trace(const SizesInside* open = nullptr);
  ~Trace() override;
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  /// The innermost trace of the calling thread; null when ops run at once.
  static Trace* current() { return current_; }
  /// For a thread that works in the place of another; returns what was.
  static Trace* exchange(Trace* trace);

  bool is_open() const { return open_; }
  /// The numbers in a tensor that was computed from open sizes, as they stand for them; null where they are not
  /// followed.
  const std::vector<std::int64_t>* sizes_in(const Tensor& tensor) const;
  /// What was asked of open sizes and made of them: the trace is for those of which the same is true.
  const SizeNotes& size_notes() const { return own_notes_; }

  Tensor parameter(const TensorSpec& spec);
  /// The variable's value at this point of the function.
  Tensor read(const Ref<Cell>& cell);
  void write(const Ref<Cell>& cell, const Tensor& value);
  /// What is traced is divided among the devices of a group.
  void note_group(std::shared_ptr<DeviceGroup> group) { graph_.group = std::move(group); }
  /// For tracing again what was traced inside another function that has ended: parameters in the places of a tensor of
  /// that one, of a variable, and of a variable that was read there.
  Tensor stand_in(const Tensor& outer);
  void stand_in(const Ref<Cell>& cell) { variables_[cell.get()] = parameter(cell->spec(), cell->id()); }
  void stand_in(const Ref<Cell>& cell, const Tensor& outer) { variables_[cell.get()] = stand_in(outer); }
  /// The graph that computes `results`; recording ends.
  Graph finish(std::span<const Tensor> results);
  /// Recording ends, though finish() may still come: what a branch returns can depend on what another one does.
  void stop();
  /// Tensors of enclosing traces that were used inside: the values of the last parameters, in order.
  const Tensors& captures() const { return captures_; }
  /// Which captures are variables read here for the first time; a tensor that was read outside is another capture.
  struct CellRead {
    Ref<Cell> cell;
    std::size_t capture;
  };
  const std::vector<CellRead>& cell_reads() const { return cell_reads_; }

  void run(OpCall& call) override;

 private:
  GraphValue value_of(const Tensor& tensor);
  Tensor make_symbolic(GraphValue value, const TensorSpec& spec, ValueId id);
  Tensor parameter(const TensorSpec& spec, ValueId id);
  Tensor capture(const Tensor& outer, ValueId id);
  std::int32_t record(const OpCall& call);
  void follow_sizes(const OpCall& call);
  /// Tells the layers below where to note what is asked of open sizes; null: none are open.
  static void tell(SizeNotes* notes);

  friend class InitScope;
  static thread_local Trace* current_;
  Trace* outer_;
  bool outer_tracing_;
  SizeNotes* const outer_notes_;
  const SizesInside* const open_;  // null: all sizes are known
  bool recording_ = true;
  Graph graph_;
  std::unordered_map<const TensorImpl*, GraphValue> values_;  // symbolic ones, kept alive by kept_
  Tensors kept_;
  Tensors captures_;
  std::vector<CellRead> cell_reads_;
  std::unordered_map<const Cell*, Tensor> variables_;  // as they are at this point
  std::vector<Ref<Cell>> written_;
  std::unordered_map<const TensorImpl*, std::vector<std::int64_t>> sizes_;
  SizeNotes own_notes_;
  SizeNotes* const notes_;  // of the outermost open trace; null when this is not open
};

/// Lifts what follows out of traces, tapes, scopes and replicas: ops run at once. For variables that a traced function
/// needs.
class InitScope {
 public:
  InitScope();
  ~InitScope();
  InitScope(const InitScope&) = delete;

 private:
  Dispatcher* stack_;
  Trace* trace_;
  bool tracing_;
  ReplicaDraws* draws_;
};

}  // namespace tandem
