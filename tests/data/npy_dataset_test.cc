// Rows of NumPy's files, read from the mapped file.
#include "tandem/data/npy_dataset.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "tandem/files/npy.h"
#include "tandem/op/ops.h"
#include "tests/error_of.h"
#include "tests/temporary_folder.h"

namespace tandem {
namespace {

Tensor counting(const Shape& shape, DType dtype) {
  return reshape(range(0, static_cast<double>(shape.elements()), 1, dtype), Ints(shape.begin(), shape.end()));
}

TEST(NpyDataset, RowsAreThoseOfTheArrayInAnyOrder) {
  const TemporaryFolder folder;
  const std::string file = folder.path("rows.npy");
  save_npy(file, counting({10, 3}, DType::f32));
  const Dataset rows = npy_dataset(file);
  EXPECT_EQ(rows.cardinality(), 10);
  const std::optional<Value> first = rows.batch(4).iterate().next();
  EXPECT_EQ(first->tensor().to_vector<float>(), counting({4, 3}, DType::f32).to_vector<float>());
  float sum = 0;
  for (const Value& row : rows.shuffle(10, {.seed = 1})) sum += row.tensor().data<float>()[0];
  EXPECT_EQ(sum, 3 * 45);
}

TEST(NpyDataset, EveryDtypeIsReadAsItLies) {
  for (DType dtype : {DType::f64, DType::i8, DType::i16, DType::u16, DType::u32, DType::u64, DType::boolean}) {
    const TemporaryFolder folder;
    const std::string file = folder.path("dtype.npy");
    const Tensor array = cast(counting({6, 2}, DType::i32), dtype);
    save_npy(file, array);
    const Value all = *npy_dataset(file).batch(6).iterate().next();
    EXPECT_EQ(all.tensor().spec(), array.spec());
    EXPECT_EQ(std::memcmp(all.tensor().raw_data(), array.raw_data(), array.spec().bytes()), 0) << dtype;
  }
}

TEST(NpyDataset, ArraysOfAnArchiveStandSideBySide) {
  for (bool compressed : {false, true}) {
    const TemporaryFolder folder;
    const std::string file = folder.path("two.npz");
    save_npz(file, {{"x", counting({5, 2}, DType::f32)}, {"y", counting({5}, DType::i64)}}, compressed);
    const Value named = *npz_dataset(file).batch(5).iterate().next();
    EXPECT_EQ(named["y"].tensor().to_vector<std::int64_t>(), (std::vector<std::int64_t>{0, 1, 2, 3, 4}));
    const Value pair = *npz_dataset(file, {"y", "x"}).skip(3).iterate().next();
    EXPECT_EQ(pair[0].tensor().item<int>(), 3);
    EXPECT_EQ(pair[1].tensor().to_vector<float>(), (std::vector<float>{6, 7}));
    const std::string missing = error_of([&] { npz_dataset(file, {"z"}); });
    EXPECT_NE(missing.find("has no array 'z'; it has x, y"), std::string::npos) << missing;
  }
}

TEST(NpyDataset, FilesThatAreNoneOrWereCutOffAreNamed) {
  const TemporaryFolder folder;
  const std::string file = folder.path("cut.npy");
  save_npy(file, counting({100, 100}, DType::f32));
  const Dataset rows = npy_dataset(file);
  std::filesystem::resize_file(file, 5000);
  const std::string cut = error_of([&] { rows.iterate().next(); });
  EXPECT_NE(cut.find(file), std::string::npos) << cut;
  EXPECT_NE(cut.find("has 5000 now"), std::string::npos) << cut;
  EXPECT_NE(error_of([&] { npy_dataset(file); }).find("the header promises shape [100, 100]"), std::string::npos);
  EXPECT_NE(error_of([&] { npy_dataset("/no/such.npy"); }).find("/no/such.npy"), std::string::npos);
  EXPECT_NE(error_of([&] { npz_dataset(file); }).find("not a whole zip archive"), std::string::npos);
  const TemporaryFolder single_folder;
  const std::string single = single_folder.path("single.npy");
  save_npy(single, Tensor(1.5f));
  EXPECT_NE(error_of([&] { npy_dataset(single); }).find("single value"), std::string::npos);
  const TemporaryFolder uneven_folder;
  const std::string uneven = uneven_folder.path("uneven.npz");
  save_npz(uneven, {{"a", zeros({3})}, {"b", zeros({4})}});
  EXPECT_NE(error_of([&] { npz_dataset(uneven); }).find("equally many rows"), std::string::npos);
}

}  // namespace
}  // namespace tandem
