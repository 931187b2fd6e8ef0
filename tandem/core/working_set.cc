#include "tandem/core/working_set.h"

#include <algorithm>

#include "tandem/core/device_copy.h"
#include "tandem/core/lent_memory.h"

namespace tandem {

void WorkingSet::clear() {
  if (count_ == 0) return;
  std::lock_guard lock(Residency::mutex());
  for (std::size_t i = 0; i < count_; ++i) --first_[i]->pins;
  for (DeviceCopy* copy : more_) --copy->pins;
  count_ = 0;
  more_.clear();
}

void WorkingSet::start_to_host(Storage& storage, const Tensor& whole, std::size_t offset) {
  Allocation place;
  if (whole.defined())
    place = lent_bytes(static_cast<char*>(whole.storage().address()) + offset, storage.bytes(), [whole] {});
  std::lock_guard lock(Residency::mutex());
  if (!storage.host_.address() && !storage.elsewhere().copies.empty())
    Residency::start_download(storage, storage.elsewhere().copies.front(), std::move(place));
}

void WorkingSet::give_up_beside_host(Storage& storage) {
  std::lock_guard lock(Residency::mutex());
  Storage::Elsewhere* const elsewhere = storage.elsewhere_.load(std::memory_order_acquire);
  if (!elsewhere || !storage.host_.address() || elsewhere->host_ready) return;
  for (auto at = elsewhere->copies.begin(); at != elsewhere->copies.end();) {
    DeviceCopy& copy = *at++;
    if (copy.pins == 0) Residency::remove(storage, copy);
  }
}

void WorkingSet::release(const Storage& storage) {
  if (count_ == 0) return;
  std::lock_guard lock(Residency::mutex());
  let_go(storage);
}

void WorkingSet::let_go(const Storage& storage) {
  auto is_its = [&](DeviceCopy* copy) { return copy->owner == &storage && (--copy->pins, true); };
  std::erase_if(more_, is_its);
  const auto end = std::remove_if(first_.begin(), first_.begin() + static_cast<std::ptrdiff_t>(count_), is_its);
  count_ = static_cast<std::size_t>(end - first_.begin());
  for (; count_ < kInline && !more_.empty(); more_.pop_back()) first_[count_++] = more_.back();
}

const void* WorkingSet::read(const Tensor& tensor, MemorySpace& space) {
  const void* address = read(tensor.storage(), space);
  if (!space.is_host()) Residency::name(tensor.storage(), tensor.spec(), tensor.impl()->decision);
  return address;
}

const void* WorkingSet::read(Storage& storage, MemorySpace& space) {
  if (space.is_host()) return storage.read(space);
  Residency::Lock lock(Residency::mutex());
  DeviceCopy& copy = Residency::fetch(storage, space, lock);
  pin(copy);
  return copy.memory.address();
}

void* WorkingSet::write(Storage& storage, MemorySpace& space) {
  if (space.is_host()) {
    if (storage.elsewhere_.load(std::memory_order_acquire)) release(storage);  // copies that ops have read go, too
    return storage.address();
  }
  Residency::Lock lock(Residency::mutex());
  if (std::ranges::any_of(storage.elsewhere().copies, [](const DeviceCopy& copy) { return copy.pins > 0; }))
    let_go(storage);
  DeviceCopy* copy = Residency::find(storage, space);
  if (!copy) copy = &Residency::add(storage, space, Purpose::compute);
  Residency::touch(*copy);
  pin(*copy);
  Residency::keep_only(storage, *copy);
  if (SharedSpace::of(space)) Residency::await_busy(storage, lock);
  return copy->memory.address();
}

void WorkingSet::pin(DeviceCopy& copy) {
  if (count_ < kInline) first_[count_++] = &copy;
  else more_.push_back(&copy);
  ++copy.pins;
}

}  // namespace tandem
