// A graph made ready to run: prepared calls in order, immutable. A Frame holds the buffers of one run and is pooled, so
// that several threads may run one plan at once; in steady state a run looks nothing up and prepares nothing.
#pragma once
#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "tandem/exec/graph_placement.h"
#include "tandem/graph/graph.h"
#include "tandem/op/random_state.h"

namespace tandem {

class Frame;
class JoinedKernel;
class Stepwise;

/// What one run took, op by op.
struct RunTimes {
  struct Op {
    const PreparedCall* call;  // null: an op that runs others, or several small ones that the cores share out
    double us;  // on the host; what another device took is known to that device only
    bool joined = false;  // the first of several that the device does in one launch
  };
  std::vector<Op> ops;
};

class Plan {
 public:
  /// One kernel. Its operands are addresses that stand side by side in the frame.
  struct Instruction {
    const PreparedKernel* kernel;
    std::uint32_t inputs, outputs;  // first address
    std::uint32_t words, word_count;  // run-time attributes
    const PreparedCall* call;
    Device* told = nullptr;  // a device with memory of its own, to be told which op runs
    std::uint32_t together =
        1;  // instructions from here on that need nothing of each other; 0: one of those before counts it
    const JoinedKernel* joined = nullptr;  // that does them all in one launch
  };

  /// What happens between kernels. Values that leave the plan, cross between devices or go to a called function are
  /// tensors of the frame; all others lie in its arenas.
  struct Action {
    enum class Kind : std::uint8_t {
      allocate,  // make tensor `tensor` in `space`
      bind,  // the address of tensor `tensor` in `space` goes to the operands `first`…`last` of `targets`
      release,  // tensor `tensor` is not needed any more
      call,  // run `calls[tensor]`
      to_host,  // start copying tensor `tensor` to the host: it will be read there; into tensor `over`, if there is one
      await,  // wait until lane `tensor` has come to instruction `first`
      meanwhile,  // devices are at work and the host would wait next: Meanwhile::call
    };
    Kind kind;
    std::uint32_t before;  // the instruction it precedes
    std::uint32_t tensor = 0;
    MemorySpace* space = nullptr;
    std::uint32_t first = 0, last = 0;
    std::uint32_t lane = 0;
    std::int32_t over = -1;  // allocate: the bytes of this argument do, when the run may use it up
    std::size_t offset = 0;  // of to_host
  };

  /// Where several devices compute on the host, each has a lane: what one thread does before variables are written.
  struct LaneItem {
    bool is_action;
    std::uint32_t index;
    bool awaited = false;  // another lane waits for this instruction
  };
  using Lane = std::vector<LaneItem>;

  /// An op that runs by itself (control flow, a traced function): takes and gives tensors.
  struct Call {
    const OpDef* op;
    std::shared_ptr<const OpDef> owner;
    Attrs attrs;
    std::optional<DeviceName> requested, near;
    std::vector<std::uint32_t> inputs, outputs;  // tensors
    Specs input_specs;  // as the op sees them: an input may be a view of its tensor
  };

  /// A tensor of the frame and where it comes from.
  struct Slot {
    enum class Kind : std::uint8_t { argument, constant, part, variable, computed } kind;
    TensorSpec spec;
    std::uint32_t index = 0;  // of the argument; of the slot that a part lies in
    std::size_t offset = 0;  // of a part
    Tensor constant = {};
    Ref<Cell> cell = {};
    bool written = false;  // the plan replaces the variable
    const Decision* decision = nullptr;  // of what computes it
  };

  /// A result or the new value of a variable: a slot's bytes, perhaps under another shape.
  struct Output {
    std::uint32_t slot;
    TensorSpec spec;
    const Decision* decision;
    bool again = false;  // another result is the same value: tapes must be able to tell them apart
  };

  /// A variable that the plan replaces. `in_place`: the instructions from `commit` on compute it over the old bytes
  /// when nobody else holds them. `copied`: a few bytes in an arena, which are copied over the old ones in the end.
  struct Write {
    Ref<Cell> cell;
    Output output;
    bool in_place = false, copied = false;
    bool also_given = false;  // a result or another variable is the same value
    MemorySpace* space = nullptr;  // of both
    std::uint32_t first = 0, last = 0;  // of `targets`: where the new bytes are written
    std::uint32_t arena = 0;  // of what is copied
    std::size_t offset = 0;
  };

  /// Random ops get fresh words each run.
  struct Draw {
    std::uint32_t word;  // the key; the counter follows
  };

  ~Plan();
  /// One tensor an argument in, one a result out. With `times` it notes what every op took. What does not fit the
  /// memory of its devices at once runs op by op, and notes nothing.
  void run(std::span<const TensorRef> arguments, std::span<Tensor> results, RunTimes* times = nullptr) const {
    run(arguments, results, {}, times);
  }
  /// The same; of argument i, `*own[i]` where that is not null, nobody else knows: its bytes may become those of a
  /// result.
  void run_using_up(std::span<const TensorRef> arguments, std::span<Tensor* const> own,
                    std::span<Tensor> results) const {
    run(arguments, results, stepwise_ ? std::span<Tensor* const>() : own, nullptr);
  }
  /// Starts to copy arguments of a later run to the devices that will read them, as far as there is room; it does not
  /// wait.
  void start_copies(std::span<const Tensor> arguments) const;
  /// Gives the buffers of runs that have ended back.
  void drop_frames() const;

  std::span<const Instruction> instructions() const { return instructions_; }
  std::size_t arena_bytes() const;
  /// The decision of every op, in the order in which they run.
  std::vector<const Decision*> decisions() const;
  /// What the placer said; null when there was nothing to place.
  const GraphPlacement* placement() const { return placement_.get(); }

 private:
  friend class Lowering;
  friend class Frame;
  friend class RunAhead;
  Plan();

  void run(std::span<const TensorRef> arguments, std::span<Tensor> results, std::span<Tensor* const> own,
           RunTimes* times) const;
  std::unique_ptr<Frame> take_frame() const;
  void give_back(std::unique_ptr<Frame> frame) const;
  /// False when a device's memory did not suffice; `drawn` then has the numbers that random ops took.
  bool run_at_once(std::span<const TensorRef> arguments, std::span<Tensor> results, std::span<Tensor* const> own,
                   RunTimes* times, std::vector<RandomState::Call>& drawn) const;
  bool is_too_large() const;
  friend bool free_idle_frames(MemorySpace& space);

  std::shared_ptr<const GraphPlacement> placement_;
  std::vector<std::shared_ptr<const PreparedCall>> prepared_;
  std::vector<Instruction> instructions_;
  std::vector<std::unique_ptr<const JoinedKernel>> joined_;
  std::uint32_t commit_ = 0;  // first instruction that writes variables in place
  std::vector<Action> actions_;
  std::vector<Lane> lanes_;  // empty: one thread runs all
  std::vector<Device*> own_memory_;  // devices used that have memory of their own
  struct Target {
    std::uint32_t operand;
    std::size_t offset = 0;  // bytes from the tensor's first
  };
  std::vector<Target> targets_;
  std::vector<Call> calls_;
  std::vector<Slot> slots_;
  std::vector<Output> results_;
  std::vector<Write> writes_;
  std::vector<Draw> draws_;
  std::vector<std::int64_t> words_;

  struct ArenaOperand {
    std::uint32_t operand, arena;
    std::size_t offset;
  };
  struct Arena {
    MemorySpace* space;
    std::size_t bytes;
  };
  std::vector<Arena> arenas_;
  std::vector<ArenaOperand> arena_operands_;
  std::uint32_t operand_count_ = 0;
  std::unique_ptr<const Stepwise> stepwise_;  // null: all is in the host's memory
  bool brings_results_ = false;  // to the host, before variables are replaced
  bool too_large_ = false;  // for a device's memory, whatever else is there
  mutable std::atomic<std::uint32_t> full_{0};  // runs since it was last seen not to fit; 0: it did fit

  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Frame>> frames_;  // not in use
};

struct LowerOptions {
  DeviceRegistry& devices;
  PlacementRules rules = {};  // for nodes that ask for no device themselves; `chosen` stands for all of them
  std::optional<DeviceName> scope = {};  // for nodes that ask for no device themselves
  /// Where the placer puts them, and in what order they start; none: near their data, in the order of the graph.
  std::shared_ptr<const GraphPlacement> placement = {};
  /// A run may have to be done again, without a device that fails: what it gives is brought to the host before
  /// variables are replaced, and survives the device.
  bool brings_results = false;
};

/// Chooses device and kernel of every node and plans the memory.
std::unique_ptr<Plan> lower(const Graph& graph, const LowerOptions& options);

}  // namespace tandem
