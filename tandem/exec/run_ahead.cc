#include "tandem/exec/run_ahead.h"

#include <algorithm>
#include <cstring>

#include "tandem/core/device_copy.h"
#include "tandem/core/run_queue.h"
#include "tandem/core/write_journal.h"
#include "tandem/exec/meanwhile.h"

namespace tandem {
namespace {

/// A run that gives more is waited for: its results are copied to where the caller will look for them.
constexpr std::size_t kMostResults = 1 << 20;  // bytes

Tensor promised(const TensorSpec& spec, const Decision* decision, const Event& promise) {
  Ref<Storage> bytes = Residency::promised(host_memory(), spec.bytes(), promise);
  return Tensor(Ref<TensorImpl>(new TensorImpl(spec, std::move(bytes), decision, {next_value_id()})));
}

/// One run, from when it is handed over until its results are there.
struct Handed {
  std::shared_ptr<const Plan> plan;
  RunAhead::Attempts attempts = {};
  Tensors arguments = {}, results = {};
  std::size_t draws = 0;
  RandomState::Position first = {};  // of the numbers that its random ops take

  /// In the order of the program, though the ops run later.
  void take() {
    RandomState& state = random_state();
    first = state.position();
    for (std::size_t i = 0; i < draws; ++i) state.draw(0);
  }
  /// The numbers may be drawn again, unless others have been drawn since.
  void undo() const {
    RandomState& state = random_state();
    if (draws > 0 && state.position().calls == first.calls + static_cast<std::int64_t>(draws))
      state.set_position(first);
  }
  void work() const {
    ScopedRandomState own(0);
    ScopedRandomState::current()->set_position(first);
    const std::vector<TensorRef> refs(arguments.begin(), arguments.end());
    Tensors made(results.size());
    const auto once = [&](const Plan& now) { now.run(refs, made); };
    if (attempts) attempts(once);
    else once(*plan);
    for (std::size_t i = 0; i < made.size(); ++i)
      std::memcpy(Residency::promised_bytes(results[i].storage()), made[i].raw_data(), results[i].spec().bytes());
  }
};

}  // namespace

bool asks_for_several_devices(const Graph& graph) {
  const DeviceName* first = nullptr;
  return std::ranges::any_of(graph.nodes, [&](const Node& node) {
    if (!node.requested) return false;
    if (!first) first = &*node.requested;
    return *node.requested != *first;
  });
}

bool leaves_little_to_place(const Graph& graph) {
  const auto is_free = [](const Node& node) { return !is_source(node) && !node.requested; };
  constexpr std::ptrdiff_t kFew = 8;  // one in so many
  return asks_for_several_devices(graph) &&
         std::ranges::count_if(graph.nodes, is_free) * kFew <= static_cast<std::ptrdiff_t>(graph.op_count());
}

bool RunAhead::may(const Plan& plan) {
  if ((plan.own_memory_.empty() && plan.lanes_.empty()) || !plan.calls_.empty() || !RunQueue::available()) return false;
  if (Meanwhile::has_task()) return false;  // this thread makes use of the time
  if (WriteJournal::current()) return false;  // what it replaces is noted on this thread
  std::size_t bytes = 0;
  for (const Plan::Output& result : plan.results_) {
    if (!result.decision || result.spec.dtype() == DType::string) return false;  // an argument or a variable as it is
    bytes += result.spec.bytes();
  }
  return bytes <= kMostResults;
}

void RunAhead::await_others(const Plan& plan) {
  if (RunQueue::idle()) return;
  for (const Plan::Slot& slot : plan.slots_)
    if (slot.kind == Plan::Slot::Kind::variable) RunQueue::await_variable(slot.cell.get(), slot.written);
  for (const Plan::Write& write : plan.writes_) RunQueue::await_variable(write.cell.get(), true);
}

void RunAhead::run(const std::shared_ptr<const Plan>& plan, std::span<const TensorRef> arguments,
                   std::span<Tensor> results, Attempts attempts) {
  const Event promise = RunQueue::promise();
  const auto handed =
      std::make_shared<Handed>(Handed{.plan = plan, .attempts = std::move(attempts), .draws = plan->draws_.size()});
  for (const TensorRef& argument : arguments) handed->arguments.push_back(*argument);
  for (const Plan::Output& result : plan->results_)
    handed->results.push_back(promised(result.spec, result.decision, promise));
  std::vector<RunQueue::Claim> claims;
  for (const Plan::Slot& slot : plan->slots_)
    if (slot.kind == Plan::Slot::Kind::variable) claims.push_back({slot.cell.get(), slot.written});
  for (const Plan::Write& write : plan->writes_) claims.push_back({write.cell.get(), true});
  const Tensors promises = handed->results;
  RunQueue::hand_over({.work = [handed] { handed->work(); },
                       .claims = std::move(claims),
                       .promise = promise,
                       .take = [handed] { handed->take(); },
                       .undo = [handed] { handed->undo(); }});
  std::ranges::copy(promises, results.begin());
}

}  // namespace tandem
