// The buffers of one run of a plan.
#pragma once
#include <functional>
#include <vector>

#include "tandem/core/working_set.h"
#include "tandem/exec/lanes.h"
#include "tandem/exec/plan.h"
#include "tandem/op/random_state.h"

namespace tandem {

class Frame {
 public:
  explicit Frame(const Plan& plan);

  /// Arguments that are the run's own are moved from.
  void run(std::span<const TensorRef> arguments, std::span<Tensor> results, std::span<Tensor* const> own,
           RunTimes* times);
  /// Starts to copy what the host has of a later run's values to the devices that will read it. `value_of`: null for
  /// what is not known yet.
  static void start_copies(const Plan& plan, const std::function<const Tensor*(const Plan::Slot&)>& value_of);
  /// Lets go of everything that belongs to one run.
  void clear();
  /// The numbers that random ops of the last run took, in the order of the program.
  std::span<const RandomState::Call> drawn() const { return drawn_; }

 private:
  void begin(std::span<const TensorRef> arguments, std::span<Tensor* const> own);
  void execute(std::uint32_t from, std::uint32_t to);
  void execute_lanes();
  void execute_lane(std::size_t lane);
  void watch_devices() const;
  bool keeps() const;
  void run_kernels(std::uint32_t from, std::uint32_t to);
  void run_joined(const Plan::Instruction* first);
  void run_timed(std::uint32_t from, std::uint32_t to);
  void run_timed_joined(const Plan::Instruction* first);
  void perform(const Plan::Action& action, WorkingSet& held);
  void perform_for(const Plan::Action& action, WorkingSet& held);
  void perform_call(const Plan::Call& call);
  Tensor made(const Plan::Action& action);
  void bind(std::uint32_t first, std::uint32_t last, const void* address);
  void bring_results();
  void open_writes();
  Tensor new_value(const Plan::Write& write) const;
  void commit();
  Tensor output(const Plan::Output& output) const;

  const Plan& plan_;
  std::vector<Allocation> arenas_;
  std::vector<void*> operands_;
  std::vector<std::int64_t> words_;
  std::vector<Tensor> tensors_;     // by slot; undefined for variables that are written
  std::vector<Storage*> storages_;  // by slot
  Tensors new_values_;              // by write; undefined: the variable keeps its tensor
  WorkingSet held_;                 // what kernels of this run use in devices' own memory
  std::vector<RandomState::Call> drawn_;
  std::unique_ptr<LaneProgress> progress_;
  std::vector<KernelArgs> together_;  // of ops that run as one
  std::size_t next_action_ = 0;
  RunTimes* times_ = nullptr;       // null: nobody wants to know
};

}  // namespace tandem
