// Zip, safetensors and atomic writing.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <random>

#include "tandem/files/file_bytes.h"
#include "tandem/files/safetensors.h"
#include "tandem/files/zip.h"

namespace tandem {
namespace {

template <class F>
std::string message_of(F f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Zip, EntriesComeBackStoredOrDeflated) {
  const ZipEntries entries{{"config.json", "{}"}, {"empty", ""}, {"weights", std::string(5000, 'w')}};
  for (const bool compressed : {false, true}) EXPECT_EQ(zip_from_bytes(zip_to_bytes(entries, compressed)), entries);
  EXPECT_LT(zip_to_bytes(entries, true).size(), 1000U);
}

TEST(Zip, ABombIsRefusedBeforeItIsUnpacked) {
  std::string noise(1 << 20, '\0');  // that deflate cannot make smaller
  std::mt19937 random(1);
  for (char& byte : noise) byte = static_cast<char>(random());
  std::string bomb = zip_to_bytes({{"a", noise}}, true);
  const std::uint32_t claimed = 1'000'000'000;
  std::memcpy(bomb.data() + bomb.rfind("PK\1\2") + 24, &claimed, 4);  // the size in the archive's directory
  const std::string message = message_of([&] { zip_from_bytes(bomb, "bomb.keras"); });
  EXPECT_NE(message.find("bomb.keras: entry a would unpack to 1000000000 bytes"), std::string::npos) << message;
}

TEST(Zip, ADamagedEntryIsFoundByItsChecksum) {
  std::string bytes = zip_to_bytes({{"a", "some text"}});
  bytes[bytes.find("some text")] = 'S';
  EXPECT_NE(message_of([&] { zip_from_bytes(bytes, "x.zip"); }).find("x.zip, entry a"), std::string::npos);
}

TEST(Safetensors, TensorsAndMetadataComeBack) {
  Safetensors file;
  file.tensors.emplace("bool", Tensor::from<bool>({true}, {1}));
  file.tensors.emplace("kernel", Tensor::from<float>({1, 2, 3, 4}, {2, 2}));
  file.tensors.emplace("half", Tensor::from<BFloat16>({BFloat16(0.5F)}, {}));
  file.metadata["format"] = "tf";
  const Safetensors back = safetensors_from_bytes(safetensors_to_bytes(file));
  EXPECT_EQ(back.metadata, file.metadata);
  EXPECT_EQ(back.tensors.at("kernel").to_vector<float>(), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(back.tensors.at("kernel").shape(), (Shape{2, 2}));
  EXPECT_EQ(back.tensors.at("half").dtype(), DType::bf16);
  EXPECT_TRUE(back.tensors.at("bool").item<bool>());
}

std::string safetensors_with(std::string header, std::size_t data) {
  const std::uint64_t length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), 8) + header + std::string(data, '\0');
}

TEST(Safetensors, WrongHeadersNameTheTensor) {
  const auto error = [](const std::string& header, std::size_t data) {
    return message_of([&] { safetensors_from_bytes(safetensors_with(header, data), "w.safetensors"); });
  };
  EXPECT_NE(error(R"({"w":{"dtype":"F32","shape":[3],"data_offsets":[0,12]}})", 8)
                .find("tensor 'w' should be at [0, 12] of 8 bytes"),
            std::string::npos);
  EXPECT_NE(error(R"({"w":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", 8)
                .find("tensor 'w' of float32 [3] needs 12 bytes, 8 are stored"),
            std::string::npos);
  EXPECT_NE(error(R"({"w":{"dtype":"F3","shape":[],"data_offsets":[0,4]}})", 4).find("has dtype F3"),
            std::string::npos);
  EXPECT_NE(
      error(
          R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})",
          4)
          .find("tensor 'b' begins at byte 0"),
      std::string::npos);
  EXPECT_NE(error("[", 0).find("no JSON"), std::string::npos);
  EXPECT_NE(message_of([] {
              safetensors_from_bytes("\xff\xff\xff\xff\xff\xff\xff\xff", "w");
            }).find("the header should have 18446744073709551615 bytes"),
            std::string::npos);
}

class AtomicFile : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  const std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("tandem_atomic_" + std::to_string(::getpid()));
};

TEST_F(AtomicFile, ReplacesTheOldFileAndLeavesNothingBeside) {
  const std::string path = folder_ / "weights";
  write_file_atomically(path, "old");
  std::filesystem::permissions(path, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
  write_file_atomically(path, "new");
  EXPECT_EQ(read_file(path), "new");
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);
  EXPECT_EQ(std::filesystem::status(path).permissions(),
            std::filesystem::perms::owner_read | std::filesystem::perms::owner_write);
}

TEST_F(AtomicFile, ALinkStaysALink) {
  write_file_atomically(folder_ / "real", "old");
  std::filesystem::create_symlink("real", folder_ / "link");
  write_file_atomically(folder_ / "link", "new");
  EXPECT_TRUE(std::filesystem::is_symlink(folder_ / "link"));
  EXPECT_EQ(read_file(folder_ / "real"), "new");
}

TEST_F(AtomicFile, AFolderThatIsMissingIsNamed) {
  const std::string path = folder_ / "missing" / "weights";
  EXPECT_NE(message_of([&] { write_file_atomically(path, "x"); }).find("E0501 cannot write " + path + ": No such file"),
            std::string::npos);
  EXPECT_NE(message_of([&] { read_file(folder_); }).find("is not a regular file"), std::string::npos);
}

}  // namespace
}  // namespace tandem
