#include "tandem/dist/communicator.h"

#include <algorithm>
#include <numeric>

#include "tandem/base/error.h"
#include "tandem/core/device.h"
#include "tandem/op/dispatcher.h"
#include "tandem/op/ops.h"

namespace tandem {
namespace {

constexpr std::size_t kLargeEnough = 64 << 10;  // such a tensor crosses alone: a copy more costs less than packing it
constexpr std::size_t kBucket = 256 << 10;

Tensor flat(const Tensor& tensor) { return reshape(tensor, Ints{tensor.size()}); }

/// The tensors that replicas have at place k.
Tensors present(std::span<const Tensors> brought, std::size_t k) {
  Tensors found;
  for (const Tensors& one : brought)
    if (one[k].defined()) found.push_back(one[k]);
  return found;
}

}  // namespace

Tensor sum_of(const Tensors& parts) {
  Tensor total = parts.at(0);
  for (std::size_t i = 1; i < parts.size(); ++i) {
    if (parts[i].shape() != total.shape())
      fail(ErrorCode::shape_mismatch, "replicas add up tensors of one shape, got ", total.shape(), " and ",
           parts[i].shape(), " (replica ", i, "); gather puts tensors of different sizes one after another");
    total = total + parts[i];
  }
  return total;
}

LocalCommunicator::LocalCommunicator(std::vector<std::string> devices, std::vector<std::string> homes)
    : devices_(std::move(devices)),
      homes_(std::move(homes)) {
  if (devices_.empty() || homes_.empty())
    fail(ErrorCode::invalid_argument, "LocalCommunicator: needs at least one device and one home");
  for (const std::string& device : devices_) copies_ |= DeviceName::parse(device).kind != "CPU";
}

void LocalCommunicator::check(std::span<const Tensors> brought, const char* who) const {
  if (brought.size() != devices_.size())
    fail(ErrorCode::wrong_arity, who, ": ", devices_.size(), " replicas meet, ", brought.size(), " bring something");
  for (const Tensors& one : brought)
    if (one.size() != brought[0].size())
      fail(ErrorCode::wrong_arity, who, ": one replica brings ", brought[0].size(), " tensors, another ", one.size());
  if (homes_.size() != 1 && homes_.size() != brought[0].size())
    fail(ErrorCode::wrong_arity, who, ": there are homes for ", homes_.size(), " tensors, ", brought[0].size(),
         " are brought");
}

std::vector<std::vector<std::size_t>> LocalCommunicator::buckets(std::span<const Tensors> brought) const {
  std::vector<std::vector<std::size_t>> out;
  std::size_t filled = kBucket;  // of the bucket that is open; full: none is
  for (std::size_t k = brought[0].size(); k-- > 0;) {
    const Tensors parts = present(brought, k);
    if (parts.empty()) continue;
    const std::size_t bytes = parts[0].spec().bytes();
    const bool small = copies_ && bytes < kLargeEnough && parts.size() == brought.size();
    const bool joins = small && filled + bytes <= kBucket && home(out.back().back()) == home(k) &&
                       brought[0][out.back().back()].dtype() == parts[0].dtype();
    if (joins) {
      out.back().push_back(k);
      filled += bytes;
    } else {
      out.push_back({k});
      filled = small ? bytes : kBucket;
    }
  }
  return out;
}

Tensors LocalCommunicator::all_reduce(std::span<const Tensors> brought, ReduceOp op) {
  check(brought, "all_reduce");
  Tensors reduced(brought[0].size());
  const auto reduce = [&](const Tensors& parts) {
    const Tensor total = sum_of(parts);
    return op == ReduceOp::sum ? total : total / static_cast<double>(size());
  };
  for (const std::vector<std::size_t>& bucket : buckets(brought)) {
    if (bucket.size() == 1) {
      const DeviceScope at_home(home(bucket[0]));
      reduced[bucket[0]] = reduce(present(brought, bucket[0]));
      continue;
    }
    Tensors packed;
    for (std::size_t i = 0; i < brought.size(); ++i) {
      const DeviceScope on(devices_[i]);
      Tensors parts;
      for (std::size_t k : bucket) parts.push_back(flat(brought[i][k]));
      packed.push_back(concat(parts, 0));
    }
    const DeviceScope at_home(home(bucket[0]));
    const Tensor total = reduce(packed);
    std::int64_t begin = 0;
    for (std::size_t k : bucket) {
      const Tensor& like = brought[0][k];
      reduced[k] = reshape(slice(total, {begin}, {like.size()}), like.shape());
      begin += like.size();
    }
  }
  return reduced;
}

Tensors LocalCommunicator::all_gather(std::span<const Tensors> brought, int axis) {
  check(brought, "all_gather");
  Tensors gathered;
  for (std::size_t k = 0; k < brought[0].size(); ++k) {
    const DeviceScope at_home(home(k));
    const Tensors parts = present(brought, k);
    gathered.push_back(parts.empty() ? Tensor() : parts.size() == 1 ? parts[0] : concat(parts, axis));
  }
  return gathered;
}

Tensors LocalCommunicator::broadcast(const Tensors& values, int root) {
  if (root < 0 || root >= size()) fail(ErrorCode::invalid_argument, "broadcast: replica ", root, " of ", size());
  return values;  // a tensor is read wherever it is needed
}

std::vector<std::string> spread(std::span<const std::size_t> bytes, const std::vector<std::string>& devices) {
  std::vector<std::size_t> order(bytes.size()), filled(devices.size(), 0);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return bytes[a] > bytes[b]; });
  std::vector<std::string> out(bytes.size());
  for (std::size_t k : order) {
    const auto least = std::min_element(filled.begin(), filled.end()) - filled.begin();
    out[k] = devices[static_cast<std::size_t>(least)];
    filled[static_cast<std::size_t>(least)] += bytes[k];
  }
  return out;
}

}  // namespace tandem
