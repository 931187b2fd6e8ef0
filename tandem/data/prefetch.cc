// prefetch: a thread makes the next elements while the reader works on this one.
#include "tandem/data/prefetch.h"

#include <condition_variable>
#include <deque>
#include <exception>
#include <thread>

#include "tandem/base/event_sink.h"
#include "tandem/base/threads.h"
#include "tandem/data/dataset.h"
#include "tandem/data/node.h"
#include "tandem/data/rows.h"
#include "tandem/data/session.h"
#include "tandem/runtime/runtime.h"

namespace tandem {
namespace data {
namespace {

/// Null for the host, whose memory elements are made in.
Device* device_named(const std::string& name) {
  const DeviceName wanted = DeviceName::parse(name);
  for (Device* device : default_runtime().devices())
    if (device->name() == wanted) return device->memory().is_host() ? nullptr : device;
  if (default_runtime().soft_device_placement()) return nullptr;
  fail(ErrorCode::device_unavailable, "prefetch_to_device: there is no ", wanted.short_name(),
       "; tf.config.list_logical_devices() names those that are");
}

const Decision* copied_to(const Device& device) {
  return intern(
      {.op = "dataset", .device = device.name().short_name(), .kernel = "", .reason = ReasonCode::host_value});
}

/// With AUTOTUNE the buffer begins with two elements and doubles when the reader finds it empty although it had been
/// full since the last time: production comes in bursts, and a larger buffer would have helped.
class Prefetched final : public Iterator {
 public:
  Prefetched(IteratorPtr input, std::int64_t size, const Pass& pass, Stage& stage, const std::string& device)
      : input_(std::move(input)),
        session_(pass.session),
        stage_(stage),
        target_(device.empty() ? nullptr : device_named(device)),
        automatic_(size == kAutotune),
        capacity_(automatic_ ? 2 : static_cast<std::size_t>(size)) {
    stage_.capacity.store(static_cast<std::int64_t>(capacity_));
    stage_.workers.fetch_add(1);
    producer_ = start_thread(ThreadRole::data, "prefetch", [this] { produce(); });
  }

  ~Prefetched() override {
    {
      std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    room_.notify_one();
    producer_.join();
    for (const Item& item : items_) give_back(item);
    stage_.workers.fetch_sub(1);
    stage_.buffered.fetch_sub(static_cast<std::int64_t>(items_.size()));
  }

  bool next(Element& out) override {
    std::unique_lock lock(mutex_);
    if (items_.empty() && !ended_) wait_for_item(lock);
    if (items_.empty()) return false;
    Item item = std::move(items_.front());
    items_.pop_front();
    stage_.buffered.fetch_sub(1, std::memory_order_relaxed);
    // Waking the producer costs a system call: once half the buffer is free it pays for several elements.
    const bool wake = producer_waits_ && items_.size() <= capacity_ / 2;
    if (wake) producer_waits_ = false;
    lock.unlock();
    if (wake) room_.notify_one();
    give_back(item);
    if (item.error) std::rethrow_exception(item.error);
    out = std::move(item.element);
    return true;
  }

 private:
  struct Item {
    Element element;
    std::exception_ptr error;
    std::size_t bytes = 0;
  };

  void wait_for_item(std::unique_lock<std::mutex>& lock) {
    if (automatic_ && was_full_ && capacity_ < kMostAutomatic) {
      capacity_ *= 2;
      was_full_ = false;
      stage_.capacity.store(static_cast<std::int64_t>(capacity_), std::memory_order_relaxed);
    }
    if (producer_waits_) {
      producer_waits_ = false;
      room_.notify_one();
    }
    reader_waits_ = true;
    const CoreLoan::Pause waiting;
    const std::uint64_t begin = ticks();
    filled_.wait(lock, [&] { return !items_.empty() || ended_; });
    reader_waits_ = false;
    stage_.wait_ticks.fetch_add(ticks() - begin, std::memory_order_relaxed);
  }

  void produce() {
    for (;;) {
      Item item;
      bool more = true;
      try {
        const CoreLoan working(ThreadRole::data);
        more = input_->next(item.element);
        if (more && target_) start_copies(item.element);
      } catch (...) {
        item.error = std::current_exception();
      }
      item.bytes = more ? bytes_of(item.element) : 0;
      const bool fits = !more || !session_ || session_->reserve(item.bytes);
      std::unique_lock lock(mutex_);
      if (!fits) {
        // Beyond the budget: the element waits until the reader has taken all that is there.
        await(lock, [&] { return items_.empty(); });
        item.bytes = 0;
      }
      await(lock, [&] { return items_.size() < capacity_; });
      if (stopping_) {
        give_back(item);
        return;
      }
      if (more) items_.push_back(std::move(item));
      else ended_ = true;
      was_full_ = was_full_ || items_.size() >= capacity_;
      if (more) stage_.buffered.fetch_add(1, std::memory_order_relaxed);
      const bool wake = reader_waits_;
      lock.unlock();
      if (wake) filled_.notify_one();
      if (!more) return;
    }
  }

  template <class Condition>
  void await(std::unique_lock<std::mutex>& lock, Condition condition) {
    while (!stopping_ && !condition()) {
      producer_waits_ = true;
      room_.wait(lock);
    }
    producer_waits_ = false;
  }

  void give_back(const Item& item) {
    if (session_ && item.bytes) session_->release(item.bytes);
  }

  /// Reading a storage in a device's memory starts its copy on the device's copy queue; nobody waits for it here.
  void start_copies(Element& element) const {
    for (Leaf& leaf : element) {
      if (leaf.dataset || leaf.tensor.dtype() == DType::string || leaf.tensor.size() == 0) continue;
      TensorImpl* impl = leaf.tensor.impl();
      impl->storage->read(target_->memory());
      leaf.tensor =
          Tensor(Ref<TensorImpl>(new TensorImpl(impl->spec, impl->storage, copied_to(*target_), {next_value_id()})));
    }
  }

  static constexpr std::size_t kMostAutomatic = 512;
  IteratorPtr input_;
  std::shared_ptr<Session> session_;
  Stage& stage_;
  Device* target_;  // null: elements stay where they are made
  bool automatic_;

  std::mutex mutex_;  // guards all below
  std::condition_variable room_, filled_;
  std::deque<Item> items_;
  std::size_t capacity_;
  bool was_full_ = false, ended_ = false, stopping_ = false, producer_waits_ = false, reader_waits_ = false;
  std::thread producer_;
};

class Prefetch final : public OneInput {
 public:
  Prefetch(NodeRef input, std::int64_t size, std::string device)
      : OneInput(std::move(input)),
        size_(size),
        device_(std::move(device)) {}
  std::string_view name() const override { return "Prefetch"; }
  const Indexed* indexed() const override { return nullptr; }
  IteratorPtr iterate(const Pass& pass) const override {
    return prefetched(open(*input_, pass), size_, pass, stage_of(pass, *this), device_);
  }

 private:
  std::int64_t size_;
  std::string device_;
};

}  // namespace

IteratorPtr prefetched(IteratorPtr input, std::int64_t size, const Pass& pass, Stage& stage,
                       const std::string& device) {
  return std::make_unique<Prefetched>(std::move(input), size, pass, stage, device);
}

}  // namespace data

Dataset Dataset::prefetch(std::int64_t buffer_size) const {
  if (buffer_size < kAutotune)
    fail(ErrorCode::invalid_argument, "prefetch: buffer_size must be at least 0, or AUTOTUNE, got ", buffer_size);
  if (buffer_size == 0) return *this;
  return Dataset(std::make_shared<data::Prefetch>(node_, buffer_size, ""));
}

Dataset Dataset::prefetch_to_device(const std::string& device, std::int64_t buffer_size) const {
  if (buffer_size < 1)
    fail(ErrorCode::invalid_argument, "prefetch_to_device: buffer_size must be at least 1, got ", buffer_size);
  DeviceName::parse(device);
  return Dataset(std::make_shared<data::Prefetch>(node_, buffer_size, device));
}

}  // namespace tandem
