// Integers that few programs use keep their bits in every format of files.
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "tandem/files/hdf5.h"
#include "tandem/files/npy.h"
#include "tandem/files/safetensors.h"

namespace tandem {
namespace {

template <class T>
Tensor extremes() {
  return Tensor::from<T>({0, 1, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()}, {2, 2});
}

void expect_same(const Tensor& got, const Tensor& wanted) {
  ASSERT_EQ(got.spec(), wanted.spec());
  EXPECT_EQ(std::memcmp(got.raw_data(), wanted.raw_data(), wanted.spec().bytes()), 0) << wanted.dtype();
}

TEST(SeldomIntegers, KeepTheirBitsInFiles) {
  for (const Tensor& tensor :
       {extremes<std::int16_t>(), extremes<std::uint16_t>(), extremes<std::uint32_t>(), extremes<std::uint64_t>()}) {
    expect_same(npy_from_bytes(npy_to_bytes(tensor)), tensor);
    expect_same(npz_from_bytes(npz_to_bytes({{"a", tensor}})).at("a"), tensor);
    Safetensors file;
    file.tensors["a"] = tensor;
    expect_same(safetensors_from_bytes(safetensors_to_bytes(file)).tensors.at("a"), tensor);
    Hdf5Object root;
    root.items["a"].value = tensor;
    expect_same(hdf5_from_bytes(hdf5_to_bytes(root)).find("a")->value, tensor);
  }
}

}  // namespace
}  // namespace tandem
