// A reference-counted pointer whose count lives in the object: one allocation, one word.
#pragma once
#include <atomic>
#include <cstdint>
#include <utility>

namespace tandem {

class RefCounted {
 public:
  RefCounted() = default;
  RefCounted(const RefCounted&) = delete;
  RefCounted& operator=(const RefCounted&) = delete;

  std::uint32_t use_count() const { return count_.load(std::memory_order_acquire); }

 protected:
  ~RefCounted() = default;

 private:
  template <class T>
  friend class Ref;
  void retain() const { count_.fetch_add(1, std::memory_order_relaxed); }
  /// True when this was the last reference. The sole owner needs no locked instruction.
  bool release() const {
    return count_.load(std::memory_order_acquire) == 1 || count_.fetch_sub(1, std::memory_order_acq_rel) == 1;
  }
  mutable std::atomic<std::uint32_t> count_{1};
};

template <class T>
class Ref {
 public:
  Ref() = default;
  /// Takes over the reference a new object is born with.
  explicit Ref(T* fresh) : object_(fresh) {}
  Ref(const Ref& other) : object_(other.object_) {
    if (object_) object_->retain();
  }
  Ref(Ref&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Ref& operator=(Ref other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Ref() {
    if (object_ && object_->release()) delete object_;
  }

  T* get() const { return object_; }
  T* operator->() const { return object_; }
  T& operator*() const { return *object_; }
  explicit operator bool() const { return object_ != nullptr; }
  friend bool operator==(const Ref& a, const Ref& b) { return a.object_ == b.object_; }

 private:
  T* object_ = nullptr;
};

}  // namespace tandem
