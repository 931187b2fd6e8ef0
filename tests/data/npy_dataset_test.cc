// Rows of NumPy's files, read from the mapped file.
#include "tandem/data/npy_dataset.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "tandem/files/npy.h"
#include "tandem/op/ops.h"

namespace tandem {
namespace {

struct Scratch {
  explicit Scratch(const std::string& name) : path((std::filesystem::temp_directory_path() / ("tandem_npy_dataset_" + name)).string()) {}
  ~Scratch() { std::filesystem::remove(path); }
  std::string path;
};

std::string error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

Tensor counting(const Shape& shape, DType dtype) { return reshape(range(0, static_cast<double>(shape.elements()), 1, dtype), Ints(shape.begin(), shape.end())); }

TEST(NpyDataset, RowsAreThoseOfTheArrayInAnyOrder) {
  const Scratch file("rows.npy");
  save_npy(file.path, counting({10, 3}, DType::f32));
  const Dataset rows = npy_dataset(file.path);
  EXPECT_EQ(rows.cardinality(), 10);
  const std::optional<Value> first = rows.batch(4).iterate().next();
  EXPECT_EQ(first->tensor().to_vector<float>(), counting({4, 3}, DType::f32).to_vector<float>());
  float sum = 0;
  for (const Value& row : rows.shuffle(10, {.seed = 1})) sum += row.tensor().data<float>()[0];
  EXPECT_EQ(sum, 3 * 45);
}

TEST(NpyDataset, EveryDtypeIsReadAsItLies) {
  for (DType dtype : {DType::f64, DType::i8, DType::i16, DType::u16, DType::u32, DType::u64, DType::boolean}) {
    const Scratch file("dtype.npy");
    const Tensor array = cast(counting({6, 2}, DType::i32), dtype);
    save_npy(file.path, array);
    const Value all = *npy_dataset(file.path).batch(6).iterate().next();
    EXPECT_EQ(all.tensor().spec(), array.spec());
    EXPECT_EQ(std::memcmp(all.tensor().raw_data(), array.raw_data(), array.spec().bytes()), 0) << dtype;
  }
}

TEST(NpyDataset, ArraysOfAnArchiveStandSideBySide) {
  for (bool compressed : {false, true}) {
    const Scratch file("two.npz");
    save_npz(file.path, {{"x", counting({5, 2}, DType::f32)}, {"y", counting({5}, DType::i64)}}, compressed);
    const Value named = *npz_dataset(file.path).batch(5).iterate().next();
    EXPECT_EQ(named["y"].tensor().to_vector<std::int64_t>(), (std::vector<std::int64_t>{0, 1, 2, 3, 4}));
    const Value pair = *npz_dataset(file.path, {"y", "x"}).skip(3).iterate().next();
    EXPECT_EQ(pair[0].tensor().item<int>(), 3);
    EXPECT_EQ(pair[1].tensor().to_vector<float>(), (std::vector<float>{6, 7}));
    const std::string missing = error_of([&] { npz_dataset(file.path, {"z"}); });
    EXPECT_NE(missing.find("has no array 'z'; it has x, y"), std::string::npos) << missing;
  }
}

TEST(NpyDataset, FilesThatAreNoneOrWereCutOffAreNamed) {
  const Scratch file("cut.npy");
  save_npy(file.path, counting({100, 100}, DType::f32));
  const Dataset rows = npy_dataset(file.path);
  std::filesystem::resize_file(file.path, 5000);
  const std::string cut = error_of([&] { rows.iterate().next(); });
  EXPECT_NE(cut.find(file.path), std::string::npos) << cut;
  EXPECT_NE(cut.find("has 5000 now"), std::string::npos) << cut;
  EXPECT_NE(error_of([&] { npy_dataset(file.path); }).find("the header promises shape [100, 100]"), std::string::npos);
  EXPECT_NE(error_of([&] { npy_dataset("/no/such.npy"); }).find("/no/such.npy"), std::string::npos);
  EXPECT_NE(error_of([&] { npz_dataset(file.path); }).find("not a whole zip archive"), std::string::npos);
  const Scratch single("single.npy");
  save_npy(single.path, Tensor(1.5f));
  EXPECT_NE(error_of([&] { npy_dataset(single.path); }).find("single value"), std::string::npos);
  const Scratch uneven("uneven.npz");
  save_npz(uneven.path, {{"a", zeros({3})}, {"b", zeros({4})}});
  EXPECT_NE(error_of([&] { npz_dataset(uneven.path); }).find("equally many rows"), std::string::npos);
}

}  // namespace
}  // namespace tandem
