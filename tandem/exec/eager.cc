#include "tandem/exec/eager.h"

#include <algorithm>
#include <array>

#include "tandem/base/event_sink.h"
#include "tandem/core/lent_memory.h"
#include "tandem/core/link.h"
#include "tandem/core/spill.h"
#include "tandem/core/working_set.h"
#include "tandem/exec/device_error.h"
#include "tandem/exec/long_work.h"
#include "tandem/exec/numerics.h"
#include "tandem/exec/placement_log.h"

namespace tandem {
namespace {

/// A thread's most recent calls, looked up without a lock.
struct FrontCache {
  static constexpr std::size_t kSlots = 512;
  struct Slot {
    std::uint64_t hash = 0;
    std::shared_ptr<const PreparedCall> call;
    bool takes_long = false;
  };
  std::array<Slot, kSlots> slots;
  std::uint64_t epoch = 0;  // of the dispatcher whose calls these are

  void belong_to(std::uint64_t new_epoch) {
    if (epoch == new_epoch) return;
    slots.fill({});
    epoch = new_epoch;
  }
};

/// Addresses of operands; on the stack unless an op has very many.
class Addresses {
 public:
  explicit Addresses(std::size_t count) {
    if (count <= kInline) return;
    more_.resize(count);
    data_ = more_.data();
  }
  void*& operator[](std::size_t i) { return data_[i]; }
  void* const* data() const { return data_; }

 private:
  static constexpr std::size_t kInline = 12;
  void* inline_[kInline];
  std::vector<void*> more_;
  void** data_ = inline_;
};

/// Output i may take over the bytes of input i when the caller gave it up, nobody else holds it and it is here.
bool can_reuse(const OpCall& call, std::size_t i, const MemorySpace& memory) {
  if (!(call.donated >> i & call.op.in_place >> i & 1)) return false;
  const TensorImpl* input = call.inputs[i]->unchecked();
  return input->use_count() == 1 && input->storage->use_count() == 1 && &input->storage->space() == &memory;
}

/// One run of some, timed by the device's own clock.
class DeviceSample {
 public:
  static constexpr unsigned kMeanDistance = 64;

  DeviceSample(EagerTimer* timer, const PreparedCall& call) : call_(call) {
    thread_local SampleClock clock(kMeanDistance);
    if (clock.due() && timer && timer->start(call)) [[unlikely]]
      timer_ = timer;
  }
  ~DeviceSample() {
    if (timer_) [[unlikely]]
      timer_->ended(call_, given_);
  }
  DeviceSample(const DeviceSample&) = delete;
  void given() { given_ = true; }

 private:
  const PreparedCall& call_;
  EagerTimer* timer_ = nullptr;
  bool given_ = false;
};

/// What takes this long on the host is more than a launch; how long it took is known from its event.
constexpr std::uint64_t kLongTicks = 40'000;

void sample_host(EagerTimer& timer, const PreparedCall& call, std::uint64_t start, std::uint64_t end) {
  constexpr unsigned kMeanDistance = 8;
  thread_local SampleClock clock(kMeanDistance);
  if (clock.due()) timer.host_ran(call, Span{.start = start, .end = end}.microseconds());
}

/// With the operands in the device's own memory, held there until the op is in its queue.
void execute_on_device(const PreparedCall& prepared, OpCall& call, EagerTimer* timer) {
  Addresses inputs(call.inputs.size()), outputs(prepared.outputs.size());
  MemorySpace& memory = prepared.device->memory();
  WorkingSet operands;
  for (std::size_t i = 0; i < call.inputs.size(); ++i)
    inputs[i] = const_cast<void*>(operands.read(*call.inputs[i], memory));
  for (std::size_t i = 0; i < prepared.outputs.size(); ++i) {
    call.outputs[i] = can_reuse(call, i, memory)
                          ? call.inputs[i]->sharing(prepared.outputs[i], prepared.decision)
                          : Tensor::uninitialized(prepared.outputs[i], memory, prepared.decision);
    outputs[i] = operands.write(*call.outputs[i].unchecked()->storage, memory);
  }
  await_links();
  DeviceSample sample(timer, prepared);
  const std::uint64_t start = ticks();
  prepared.device->set_running(prepared.decision);
  const KernelArgs args{inputs.data(), outputs.data(), call.attrs.run_time()};
  prepared.kernel->run(args);
  sample.given();
  event_ring().record(prepared.decision, start, ticks());
  if (check_numerics()) [[unlikely]]
    require_finite(prepared, args);
}

void execute(const PreparedCall& prepared, OpCall& call, EagerTimer* timer) {
  MemorySpace& memory = prepared.device->memory();
  if (!memory.is_host()) return execute_on_device(prepared, call, timer);
  Addresses inputs(call.inputs.size()), outputs(prepared.outputs.size());
  for (std::size_t i = 0; i < call.inputs.size(); ++i)
    inputs[i] = const_cast<void*>(call.inputs[i]->unchecked()->storage->read(memory));
  for (std::size_t i = 0; i < prepared.outputs.size(); ++i) {
    call.outputs[i] = can_reuse(call, i, memory)
                          ? call.inputs[i]->sharing(prepared.outputs[i], prepared.decision)
                          : Tensor::uninitialized(prepared.outputs[i], memory, prepared.decision);
    outputs[i] = call.outputs[i].unchecked()->storage->address();
  }
  const std::uint64_t start = ticks();
  const KernelArgs args{inputs.data(), outputs.data(), call.attrs.run_time()};
  prepared.kernel->run(args);
  const std::uint64_t end = ticks();
  event_ring().record(prepared.decision, start, end);
  if (end - start > kLongTicks && timer) [[unlikely]]
    sample_host(*timer, prepared, start, end);
  if (check_numerics()) [[unlikely]]
    require_finite(prepared, args);
}

}  // namespace

namespace {

/// Where the operands lie.
struct OperandHomes {
  const DeviceName* largest =
      nullptr;  // the device in whose own memory the largest one lies; null when that is the host's
  bool several = false;                 // they lie in different memories
};

OperandHomes operand_homes(const OpCall& call) {
  const Device *device = nullptr, *first = nullptr;
  std::size_t most = 0;
  bool several = false;
  for (std::size_t i = 0; i < call.inputs.size(); ++i) {
    const Storage& storage = call.inputs[i]->storage();
    const Device* owner = storage.space().device();
    if (i == 0) first = owner;
    several |= owner != first;
    if (storage.bytes() < most) continue;
    if (storage.bytes() == most && !owner) continue;  // a tie goes to the device: the way there was paid for
    most = storage.bytes();
    device = owner;
  }
  return {device ? &device->name() : nullptr, several};
}

/// A block of an operand on the host lies there already. Not where it is little: it would keep all of the operand.
bool lend_block(const PreparedCall& prepared, OpCall& call) {
  constexpr std::size_t kLeastBytes = 4096, kLeastShare = 32;
  const Tensor& whole = *call.inputs[0];
  Storage& storage = whole.storage();
  const TensorSpec& spec = prepared.outputs[0];
  const std::size_t bytes = spec.bytes();
  if (bytes < kLeastBytes || bytes * kLeastShare < storage.bytes() || !prepared.device->memory().is_host() ||
      !storage.space().is_host())
    return false;
  const std::int64_t at = call.op.block_at(whole.shape(), spec.shape(), call.attrs);
  if (at < 0) return false;
  auto* begin = const_cast<char*>(static_cast<const char*>(storage.host())) +
                static_cast<std::size_t>(at) * dtype_size(spec.dtype());
  call.outputs[0] = lent_tensor(spec, begin, prepared.decision, [kept = whole.impl()->storage] {});
  return true;
}

}  // namespace

HeldLock*& HeldLock::current() {
  thread_local HeldLock* lock = nullptr;
  return lock;
}

void EagerDispatcher::run(OpCall& call) {
  try {
    find_and_execute(call);
  } catch (const Error& error) {
    if (error.code() == ErrorCode::device_lost) forget_lost_devices();
    // An operand may be what did not arrive.
    if (error.code() == ErrorCode::device_failed)
      for (const TensorRef& input : call.inputs) WorkingSet::give_up_beside_host(input->storage());
    rethrow_naming(error, call.op.name);
  }
}

void EagerDispatcher::find_and_execute(OpCall& call) {
  if (call.op.execute) [[unlikely]]
    return call.op.execute(call);
  const OperandHomes homes = operand_homes(call);  // looks at every operand: a symbolic one ends here
  if (!call.requested) call.near = homes.largest;
  thread_local FrontCache front;
  front.belong_to(epoch_.load(std::memory_order_relaxed));
  const std::uint64_t hash = hash_of(call);
  FrontCache::Slot& slot = front.slots[hash % FrontCache::kSlots];
  if (slot.hash != hash || !slot.call || !slot.call->key.matches(call)) {
    slot.call = find_or_prepare(call, hash);
    slot.hash = hash;
    slot.takes_long = !call.op.view && takes_long(cost_of(call));
  }
  if (slot.call->device->lost()) [[unlikely]] {
    forget_lost_devices();
    slot.call = find_or_prepare(call, hash);
  }
  // An op run from inside the kernel could replace the slot; kernels run no ops, so a plain reference will do.
  const PreparedCall& prepared = *slot.call;
  const WithoutLock others(slot.takes_long);
  if (prepared.stay.there && (prepared.stay.loss_us > 0 || homes.several)) [[unlikely]]
    return stay_or_move(prepared, call);
  run_prepared(prepared, call);
}

void EagerDispatcher::note_large_work(double us) {
  constexpr double kLoadingUs = 50e3;
  if (large_work_us_.fetch_add(us, std::memory_order_relaxed) + us < kLoadingUs) return;
  large_work_us_.store(0, std::memory_order_relaxed);
  devices_.find({"GPU", 0});  // looks for all there are
}

void EagerDispatcher::stay_or_move(const PreparedCall& prepared, OpCall& call) {
  if (prepared.stay.there->lost()) [[unlikely]]
    return run_prepared(*find_or_prepare(call, hash_of(call)), call);
  if (prepared.stay.there == prepared.device) {  // the only one known: what could be lost is added up
    const float us = prepared.stay.loss_us;
    run_prepared(prepared, call);
    return note_large_work(us);
  }
  float lost = 0;
  if (should_move(call, *prepared.device, prepared.stay, lost)) {
    Device& there = *prepared.stay.there;
    call.near = there.memory().device() ? &there.name() : nullptr;
    return run_prepared(*find_or_prepare(call, hash_of(call)), call);
  }
  run_prepared(prepared, call);
  for (Tensor& output : call.outputs) output.storage().set_lost_by_staying(lost);
}

void EagerDispatcher::run_prepared(const PreparedCall& prepared, OpCall& call) {
  if (log_device_placement()) [[unlikely]]
    log_placement(*prepared.decision);
  if (call.op.view) {
    call.outputs[0] = call.inputs[0]->sharing(prepared.outputs[0], prepared.decision);
    return;
  }
  if (call.op.block_at && lend_block(prepared, call)) return;
  EagerTimer* const asks = weighs_.load(std::memory_order_relaxed) ? timer.get() : nullptr;
  try {
    execute(prepared, call, asks);
  } catch (const Error& error) {
    const bool device_is_full = error.code() == ErrorCode::out_of_memory && prepared.device != &devices_.host_device();
    if (!device_is_full || !soft_placement() || !spill_enabled()) throw;
    // Not kept in the cache: there may be room the next time.
    execute(*prepare(call, devices_, {.chosen = DeviceChoice{&devices_.host_device(), ReasonCode::memory}}), call,
            asks);
  }
}

void EagerDispatcher::forget_lost_devices() {
  for (Device* device : devices_.known())
    if (device->lost()) devices_.remove(*device);
  forget_calls();
}

std::shared_ptr<const PreparedCall> EagerDispatcher::find_or_prepare(const OpCall& call, std::uint64_t hash) {
  // One may have gone without any op having met it: in a process that was forked.
  if (std::ranges::any_of(devices_.known(), [](const Device* device) { return device->lost(); })) [[unlikely]]
    forget_lost_devices();
  PlacementRules rules;
  {
    std::lock_guard lock(mutex_);
    auto [begin, end] = calls_.equal_range(hash);
    for (auto it = begin; it != end; ++it)
      if (it->second->key.matches(call)) return it->second;
    rules = rules_;
  }
  const WithoutLock others(true);  // compilers are slow
  const bool free = machine && !call.requested && !call.op.view && rules.policy != PlacementPolicy::first_gpu;
  std::shared_ptr<const PreparedCall> prepared = free ? prepare_placed(call, rules) : prepare(call, devices_, rules);
  std::lock_guard lock(mutex_);
  if (calls_.size() >= kMostCalls) calls_.clear();
  calls_.emplace(hash, prepared);
  return prepared;
}

std::shared_ptr<const PreparedCall> EagerDispatcher::prepare_placed(const OpCall& call, PlacementRules rules) {
  const Cost work = cost_of(call);
  if (devices_.known().size() == 1) {
    auto prepared = prepare(call, devices_, rules);
    if (const double us = large_work_us(work); us > 0 && !devices_.searched())
      prepared->stay = {.there = prepared->device, .loss_us = static_cast<float>(us)};
    return prepared;
  }
  rules.placed = true;
  if (call.inputs.empty()) {
    rules.chosen = DeviceChoice{&devices_.host_device(), ReasonCode::host_value};
    return prepare(call, devices_, rules);
  }
  if (!call.near && is_trivial(work)) {
    rules.chosen = DeviceChoice{&devices_.host_device(), ReasonCode::too_small};
    return prepare(call, devices_, rules);
  }
  const EagerChoice weighed = weigh(call, devices_, *machine());
  weighs_.store(true, std::memory_order_relaxed);
  rules.chosen = weighed.choice;
  auto prepared = prepare(call, devices_, rules);
  if (prepared->device == weighed.choice.device) prepared->stay = weighed.stay;
  return prepared;
}

void EagerDispatcher::forget_calls() {
  std::lock_guard lock(mutex_);
  calls_.clear();
  epoch_.store(next_epoch());
}

std::uint64_t EagerDispatcher::next_epoch() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

void EagerDispatcher::set_soft_placement(bool on) {
  {
    std::lock_guard lock(mutex_);
    rules_.soft_placement = on;
  }
  forget_calls();
}

void EagerDispatcher::set_placement_policy(PlacementPolicy policy) {
  {
    std::lock_guard lock(mutex_);
    rules_.policy = policy;
  }
  forget_calls();
}

bool EagerDispatcher::soft_placement() const {
  std::lock_guard lock(mutex_);
  return rules_.soft_placement;
}

PlacementRules EagerDispatcher::rules() const {
  std::lock_guard lock(mutex_);
  return rules_;
}

std::size_t EagerDispatcher::cached_calls() const {
  std::lock_guard lock(mutex_);
  return calls_.size();
}

}  // namespace tandem
