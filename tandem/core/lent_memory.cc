#include "tandem/core/lent_memory.h"

#include <cstring>

#include "tandem/core/device_copy.h"

namespace tandem {
namespace {

/// A space of one block, which is there already. Being no device's space, it is never written to in place. It ends with
/// its block: the storage is its only user.
class LentMemory final : public MemorySpace {
 public:
  LentMemory(void* data, std::function<void()> release)
      : MemorySpace(Kind::host),
        data_(data),
        release_(std::move(release)) {}

  std::string_view name() const override { return "lent"; }
  void* allocate(std::size_t) override { return data_; }
  void free(void*, std::size_t) noexcept override {
    ResidencyMutex::when_unlocked([this] {
      release_();
      delete this;
    });
  }
  Event copy_from_host(void* to, const void* from, std::size_t bytes, bool) override {
    std::memcpy(to, from, bytes);
    return {};
  }
  Event copy_to_host(void* to, const void* from, std::size_t bytes) override {
    std::memcpy(to, from, bytes);
    return {};
  }

 private:
  void* const data_;
  const std::function<void()> release_;
};

}  // namespace

Tensor lent_tensor(const TensorSpec& spec, void* data, const Decision* decision, std::function<void()> release) {
  auto* space = new LentMemory(data, std::move(release));
  return Tensor::uninitialized(spec, *space, decision);
}

Tensor lent_part(const Tensor& whole, const TensorSpec& spec, std::size_t offset) {
  auto* const data = const_cast<char*>(static_cast<const char*>(whole.raw_data())) + offset;
  return lent_tensor(spec, data, whole.impl()->decision, [whole] {});
}

Allocation lent_bytes(void* data, std::size_t bytes, std::function<void()> release) {
  return Allocation(*new LentMemory(data, std::move(release)), data, bytes);
}

}  // namespace tandem
