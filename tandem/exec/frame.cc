#include "tandem/exec/frame.h"

#include <cstring>
#include <utility>

#include "tandem/base/event_sink.h"
#include "tandem/base/fault.h"
#include "tandem/core/lent_memory.h"
#include "tandem/core/write_journal.h"
#include "tandem/exec/device_error.h"
#include "tandem/exec/effect_log.h"
#include "tandem/exec/kept_values.h"
#include "tandem/exec/meanwhile.h"
#include "tandem/exec/numerics.h"
#include "tandem/exec/write_locks.h"
#include "tandem/kernel/in_plan.h"
#include "tandem/kernel/joinable.h"

namespace tandem {

Frame::Frame(const Plan& plan)
    : plan_(plan),
      operands_(plan.operand_count_),
      words_(plan.words_),
      tensors_(plan.slots_.size()),
      storages_(plan.slots_.size()),
      new_values_(plan.writes_.size()),
      progress_(plan.lanes_.empty() ? nullptr : std::make_unique<LaneProgress>(plan.lanes_.size())) {
  for (const Plan::Arena& arena : plan.arenas_) arenas_.emplace_back(*arena.space, arena.bytes);
  for (const Plan::ArenaOperand& operand : plan.arena_operands_) {
    void* base = arenas_[operand.arena].address();
    operands_[operand.operand] = operand.offset ? static_cast<char*>(base) + operand.offset : base;
  }
}

void Frame::run(std::span<const TensorRef> arguments, std::span<Tensor> results, std::span<Tensor* const> own,
                RunTimes* times) {
  times_ = times;
  WriteLocks locks(plan_.writes_);
  begin(arguments, own);
  if (plan_.lanes_.empty() || times_) execute(0, plan_.commit_);  // what is timed runs op by op
  else execute_lanes();
  if (!plan_.writes_.empty()) {
    locks.close();
    for (const Plan::Write& write : plan_.writes_) WriteJournal::note(write.cell);
    if (keeps()) KeptValues::before_run(plan_, plan_.writes_);
    open_writes();
  }
  execute(plan_.commit_, static_cast<std::uint32_t>(plan_.instructions_.size()));
  if (plan_.brings_results_) bring_results();
  held_.clear();  // all is in the queues; what is replaced below may go
  for (std::size_t i = 0; i < results.size(); ++i) results[i] = output(plan_.results_[i]);
  commit();
  if (keeps()) KeptValues::after_run(plan_, plan_.writes_);
  // The next run will read what this one has written.
  if (!plan_.own_memory_.empty())
    start_copies(plan_, [](const Plan::Slot& slot) { return slot.written ? &slot.cell->value : nullptr; });
}

/// May a device lose what this run makes of variables?
bool Frame::keeps() const { return !plan_.own_memory_.empty() && !plan_.writes_.empty() && !plan_.brings_results_; }

void Frame::start_copies(const Plan& plan, const std::function<const Tensor*(const Plan::Slot&)>& value_of) {
  if (plan.too_large_ || plan.full_ > 0) return;  // what does not fit together now would be in the way
  for (const Plan::Action& action : plan.actions_) {
    if (action.kind != Plan::Action::Kind::bind || action.space->is_host()) continue;
    const Tensor* value = value_of(plan.slots_[action.tensor]);
    if (!value || !value->storage().space().is_host()) continue;  // from another device it would have to be waited for
    try {
      WorkingSet while_it_starts;
      while_it_starts.read(*value, *action.space);
    } catch (const Error&) {
      return;  // no room, or the device fails: the run that needs the copy makes room, or says so
    }
  }
}

void Frame::begin(std::span<const TensorRef> arguments, std::span<Tensor* const> own) {
  next_action_ = 0;
  drawn_.clear();
  watch_devices();
  for (std::size_t s = 0; s < plan_.slots_.size(); ++s) {
    const Plan::Slot& slot = plan_.slots_[s];
    switch (slot.kind) {
      case Plan::Slot::Kind::argument:
        if (slot.index < own.size() && own[slot.index]) tensors_[s] = std::move(*own[slot.index]);
        else tensors_[s] = *arguments[slot.index];
        break;
      case Plan::Slot::Kind::constant: tensors_[s] = slot.constant; break;
      case Plan::Slot::Kind::part: tensors_[s] = lent_part(tensors_[slot.index], slot.spec, slot.offset); break;
      case Plan::Slot::Kind::variable:
        if (slot.written) {
          // No reference of our own: whether anybody else holds the bytes decides if they may be overwritten.
          storages_[s] = &slot.cell->value.storage();
          continue;
        }
        tensors_[s] = lying_in(*slot.cell);
        break;
      case Plan::Slot::Kind::computed: continue;
    }
    storages_[s] = &tensors_[s].storage();
  }
  for (const Plan::Draw& draw : plan_.draws_) {
    const auto call = random_state().draw(plan_.words_[draw.word]);
    words_[draw.word] = call.key;
    words_[draw.word + 1] = call.counter;
    drawn_.push_back(call);
  }
}

void Frame::execute(std::uint32_t from, std::uint32_t to) {
  while (next_action_ < plan_.actions_.size()) {
    const Plan::Action& action = plan_.actions_[next_action_];
    if (action.before > to) break;
    run_kernels(from, action.before);
    from = std::max(from, action.before);
    perform_for(action, held_);
    ++next_action_;
  }
  run_kernels(from, to);
}

void Frame::execute_lanes() {
  progress_->reset();
  run_lanes(plan_.lanes_.size(), [this](std::size_t lane) {
    try {
      execute_lane(lane);
    } catch (...) {
      progress_->fail();
      throw;
    }
  });
  while (next_action_ < plan_.actions_.size() && plan_.actions_[next_action_].before < plan_.commit_) ++next_action_;
}

void Frame::execute_lane(std::size_t lane) {
  WorkingSet none;  // lanes other than the caller's have nothing on devices with memory of their own
  for (const Plan::LaneItem& item : plan_.lanes_[lane]) {
    if (item.is_action) {
      perform_for(plan_.actions_[item.index], lane == 0 ? held_ : none);
      continue;
    }
    run_kernels(item.index, item.index + 1);
    if (item.awaited) progress_->advance(lane, item.index + 1);
  }
}

/// A device that fails in the middle, on purpose.
void Frame::watch_devices() const {
  for (const Device* device : plan_.own_memory_)
    if (fault(Fault::plan_device))
      fail(ErrorCode::device_failed, "a step failed on ", device->name().short_name(), ": made to fail");
}

void Frame::run_kernels(std::uint32_t from, std::uint32_t to) {
  if (from >= to) return;
  if (times_) [[unlikely]]
    return run_timed(from, to);
  void** operands = operands_.data();
  const bool checked = check_numerics();
  const bool events = events_enabled();
  EventRing& ring = event_ring();
  std::uint64_t start = events ? ticks() : 0;
  const Plan::Instruction* at = &plan_.instructions_[from];
  const InPlan in_plan;
  try {
    for (; at != plan_.instructions_.data() + to; ++at) {
      if (at->joined) {
        run_joined(at);
        at += at->together - 1;
        start = events ? ticks() : 0;
        continue;
      }
      const KernelArgs args{operands + at->inputs, operands + at->outputs, {words_.data() + at->words, at->word_count}};
      if (at->told) at->told->set_running(at->call->decision);
      at->kernel->run(args);
      if (events) {
        const std::uint64_t end = ticks();
        ring.record(at->call->decision, start, end);
        start = end;
      }
      if (checked) [[unlikely]]
        require_finite(*at->call, args);
    }
  } catch (const Error& error) {
    rethrow_naming(error, at->call->decision->op);
  }
}

/// A stage, or a bundle.
void Frame::run_joined(const Plan::Instruction* first) {
  const bool checked = check_numerics();
  together_.resize(first->together);
  for (std::uint32_t i = 0; i < first->together; ++i) {
    together_[i] = {operands_.data() + first[i].inputs,
                    operands_.data() + first[i].outputs,
                    {words_.data() + first[i].words, first[i].word_count}};
    if (!checked || first->told) continue;
    // One after the other: later ones may overwrite what earlier ones made.
    first[i].kernel->run(together_[i]);
    require_finite(*first[i].call, together_[i]);
  }
  if (!first->told) {
    if (!checked) first->joined->run(together_);  // notes what each op took
    return;
  }
  first->told->set_running(first->call->decision);
  const std::uint64_t start = ticks();
  first->joined->run(together_);
  event_ring().record(first->call->decision, start, ticks());
  if (checked) [[unlikely]]
    for (std::uint32_t i = 0; i < first->together; ++i) require_finite(*first[i].call, together_[i]);
}

/// What goes wrong is told by the name of the op it was done for.
void Frame::perform_for(const Plan::Action& action, WorkingSet& held) {
  const bool for_an_op = action.kind != Plan::Action::Kind::call && action.before < plan_.instructions_.size();
  if (!for_an_op) return perform(action, held);
  try {
    perform(action, held);
  } catch (const Error& error) {
    rethrow_naming(error, plan_.instructions_[action.before].call->decision->op);
  }
}

/// As run_kernels, so that a step that is timed takes as long as any other; and devices learn which op their work
/// belongs to.
void Frame::run_timed(std::uint32_t from, std::uint32_t to) {
  const double us_per_tick = nanoseconds_per_tick() / 1e3;
  const InPlan in_plan;
  for (const Plan::Instruction* at = &plan_.instructions_[from]; at != plan_.instructions_.data() + to; ++at) {
    if (at->joined) {
      run_timed_joined(at);
      at += at->together - 1;
      continue;
    }
    const KernelArgs args{
        operands_.data() + at->inputs, operands_.data() + at->outputs, {words_.data() + at->words, at->word_count}};
    Device& device = *at->call->device;
    device.set_running(at->call->decision);
    const std::uint64_t start = ticks();
    try {
      at->kernel->run(args);
    } catch (const Error& error) {
      rethrow_naming(error, at->call->decision->op);
    }
    const std::uint64_t end = ticks();
    device.set_running(nullptr);
    event_ring().record(at->call->decision, start, end);
    const bool here = device.memory().is_host();
    times_->ops.push_back({at->call, here ? us_per_tick * static_cast<double>(end - start) : 0});
    if (check_numerics()) [[unlikely]]
      require_finite(*at->call, args);
  }
}

void Frame::run_timed_joined(const Plan::Instruction* first) {
  const std::uint64_t start = ticks();
  run_joined(first);
  const double us = static_cast<double>(ticks() - start) * nanoseconds_per_tick() / 1e3;
  if (first->told) first->told->set_running(nullptr);
  if (first->told) times_->ops.push_back({.call = first->call, .us = 0, .joined = true});
  else times_->ops.push_back({.call = nullptr, .us = us});
}

void Frame::bind(std::uint32_t first, std::uint32_t last, const void* address) {
  for (std::uint32_t i = first; i < last; ++i) {
    const auto [operand, offset] = plan_.targets_[i];
    void* base = const_cast<void*>(address);
    operands_[operand] = offset ? static_cast<char*>(base) + offset : base;
  }
}

/// Does nobody else know the bytes?
static bool is_alone(const Tensor& tensor, const MemorySpace& space) {
  return tensor.unchecked()->use_count() == 1 && tensor.storage().use_count() == 1 &&
         &tensor.storage().space() == &space;
}

Tensor Frame::made(const Plan::Action& action) {
  const Plan::Slot& slot = plan_.slots_[action.tensor];
  Tensor* over = action.over >= 0 ? &tensors_[static_cast<std::size_t>(action.over)] : nullptr;
  if (!over || !is_alone(*over, *action.space)) return Tensor::uninitialized(slot.spec, *action.space, slot.decision);
  return std::exchange(*over, {}).sharing(slot.spec, slot.decision);
}

void Frame::perform(const Plan::Action& action, WorkingSet& held) {
  using Kind = Plan::Action::Kind;
  switch (action.kind) {
    case Kind::allocate: {
      tensors_[action.tensor] = made(action);
      storages_[action.tensor] = &tensors_[action.tensor].storage();
      return bind(action.first, action.last, held.write(*storages_[action.tensor], *action.space));
    }
    case Kind::bind: return bind(action.first, action.last, held.read(*storages_[action.tensor], *action.space));
    case Kind::release:
      held.release(*storages_[action.tensor]);
      tensors_[action.tensor] = {};
      return;
    case Kind::call: {
      const std::uint64_t start = ticks();
      perform_call(plan_.calls_[action.tensor]);
      if (times_) times_->ops.push_back({nullptr, static_cast<double>(ticks() - start) * nanoseconds_per_tick() / 1e3});
      return;
    }
    case Kind::to_host: {
      const bool into = action.over >= 0;
      return WorkingSet::start_to_host(
          *storages_[action.tensor], into ? tensors_[static_cast<std::size_t>(action.over)] : Tensor(), action.offset);
    }
    case Kind::await:
      if (!times_) progress_->await(action.tensor, action.first);
      return;
    case Kind::meanwhile: return Meanwhile::call(plan_);
  }
}

void Frame::perform_call(const Plan::Call& call) {
  std::vector<Tensor> held;  // what the frame does not hold: values of variables that are written, and views
  held.reserve(call.inputs.size());
  std::vector<TensorRef> inputs;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    const std::uint32_t slot = call.inputs[i];
    const bool ours = tensors_[slot].defined();
    const Tensor& tensor = ours ? tensors_[slot] : plan_.slots_[slot].cell->value;
    const bool is_view = tensor.spec() != call.input_specs[i];
    if (is_view) held.push_back(tensor.sharing(call.input_specs[i], tensor.impl()->decision));
    else if (!ours) held.push_back(tensor);
    inputs.emplace_back(ours && !is_view ? tensor : held.back());
  }
  Tensors outputs(call.outputs.size());
  OpCall op_call{.op = *call.op,
                 .inputs = inputs,
                 .attrs = call.attrs,
                 .outputs = outputs,
                 .requested = call.requested ? &*call.requested : nullptr,
                 .near = call.near ? &*call.near : nullptr,
                 .owner = &call.owner};
  const auto execute = [&] { call.op->execute(op_call); };
  if (EffectLog* log = call.op->like == &effects_op ? EffectLog::current() : nullptr) log->once(outputs, execute);
  else execute();
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    tensors_[call.outputs[i]] = std::move(outputs[i]);
    storages_[call.outputs[i]] = &tensors_[call.outputs[i]].storage();
  }
}

/// Results and new values of variables survive the device that has made them, and it fails, if it does, before
/// variables are replaced.
void Frame::bring_results() {
  const auto bring = [this](const Tensor& tensor) {
    if (tensor.defined() && !tensor.storage().space().is_host()) held_.read(tensor, host_memory());
  };
  for (const Plan::Output& result : plan_.results_)
    if (plan_.slots_[result.slot].kind == Plan::Slot::Kind::computed) bring(tensors_[result.slot]);
  for (const Plan::Write& write : plan_.writes_)
    if (!write.copied) bring(tensors_[write.output.slot]);
}

void Frame::open_writes() {
  for (const Plan::Write& write : plan_.writes_) {
    if (!write.in_place) continue;
    const Tensor& old = write.cell->value;
    // A run that may be done again begins with the old values: it overwrites none.
    const bool ours = !plan_.brings_results_ && is_alone(old, *write.space);
    Tensor& target = tensors_[write.output.slot];
    if (!ours) target = Tensor::uninitialized(write.output.spec, *write.space, write.output.decision);
    else if (write.also_given) target = old.sharing(write.output.spec, write.output.decision);
    Storage& bytes = target.defined() ? target.storage() : old.storage();
    if (ours)
      held_.read(bytes, *write.space);  // the old value may have been evicted, and is read by what overwrites it
    bind(write.first, write.last, held_.write(bytes, *write.space));
  }
}

Tensor Frame::output(const Plan::Output& output) const {
  const Plan::Slot& slot = plan_.slots_[output.slot];
  const Tensor& tensor = tensors_[output.slot].defined() ? tensors_[output.slot] : slot.cell->value;
  if (slot.kind == Plan::Slot::Kind::computed && tensor.spec() == output.spec && !output.again) return tensor;
  return tensor.sharing(output.spec, output.decision ? output.decision : tensor.impl()->decision);
}

/// A variable keeps its tensor where the new bytes are in it already, or a few are copied there, and nobody else knows
/// it.
Tensor Frame::new_value(const Plan::Write& write) const {
  const Tensor& old = write.cell->value;
  if (write.copied)
    return is_alone(old, *write.space)
               ? Tensor()
               : write.cell->own(Tensor::uninitialized(write.output.spec, *write.space, write.output.decision));
  return write.in_place && !tensors_[write.output.slot].defined() ? Tensor() : write.cell->own(output(write.output));
}

void Frame::commit() {
  // What a variable takes of another one comes first: then nobody is alone with those bytes any more.
  for (const bool copied : {false, true})
    for (std::size_t i = 0; i < new_values_.size(); ++i)
      if (plan_.writes_[i].copied == copied) new_values_[i] = new_value(plan_.writes_[i]);
  // Nothing below can fail: all new values are there, or have room.
  for (std::size_t i = 0; i < new_values_.size(); ++i) {
    const Plan::Write& write = plan_.writes_[i];
    Tensor& value = write.cell->value;
    if (new_values_[i].defined()) value = std::exchange(new_values_[i], {});
    else value.impl()->decision = write.output.decision;
    if (write.copied)
      std::memcpy(value.storage().address(), static_cast<const char*>(arenas_[write.arena].address()) + write.offset,
                  write.output.spec.bytes());
  }
}

void Frame::clear() {
  held_.clear();
  times_ = nullptr;
  for (Tensor& tensor : tensors_) tensor = {};
  for (Tensor& value : new_values_) value = {};
}

}  // namespace tandem
