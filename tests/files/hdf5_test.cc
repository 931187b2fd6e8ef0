#include "tandem/files/hdf5.h"

#include <gtest/gtest.h>

#include <cstring>

#include "tandem/files/file_bytes.h"

namespace tandem {
namespace {

const std::string kData = TANDEM_SOURCE_DIR "/tests/data/";

Tensor at(const Hdf5Object& root, const std::string& path) {
  const Hdf5Object* found = root.find(path);
  if (!found) throw std::runtime_error("no " + path);
  return found->value;
}

Tensor text(std::string value) { return Tensor::from_strings({std::move(value)}, {}); }

class Hdf5Sample : public testing::TestWithParam<const char*> {
 protected:
  const Hdf5Object root_ = load_hdf5(kData + "hdf5_" + GetParam() + ".h5");
};

TEST_P(Hdf5Sample, AttributesAreTextNumbersOrNothing) {
  EXPECT_EQ(root_.attributes.at("text").strings()[0], "grüße");
  EXPECT_EQ(root_.attributes.at("fixed").strings(), (std::vector<std::string>{"ab", "cde"}));
  EXPECT_EQ(root_.attributes.at("number").item<double>(), 0.5);
  EXPECT_EQ(root_.attributes.at("none").size(), 0);
}

TEST_P(Hdf5Sample, EveryElementTypeIsKept) {
  EXPECT_EQ(at(root_, "contiguous/>f4").to_vector<float>(), (std::vector<float>{1, 2, 300}));
  EXPECT_EQ(at(root_, "contiguous/>i2").to_vector<std::int16_t>(), (std::vector<std::int16_t>{1, 2, 300}));
  EXPECT_EQ(at(root_, "contiguous/u2").to_vector<std::uint16_t>(), (std::vector<std::uint16_t>{1, 2, 300}));
  EXPECT_EQ(at(root_, "contiguous/u4").to_vector<std::uint32_t>(), (std::vector<std::uint32_t>{1, 2, 300}));
  EXPECT_TRUE(at(root_, "contiguous/bool").data<bool>()[0]);
  EXPECT_FALSE(at(root_, "contiguous/bool").data<bool>()[1]);
  EXPECT_EQ(at(root_, "contiguous/text").strings(), (std::vector<std::string>{"a", "", "ccc"}));
  EXPECT_EQ(at(root_, "contiguous/unwritten").to_vector<double>(), (std::vector<double>{0, 0, 0}));
}

TEST_P(Hdf5Sample, ChunksAreUnpackedAndPutTogether) {
  for (const char* name : {"chunked/plain", "chunked/packed"}) {
    const Tensor grid = at(root_, name);
    ASSERT_EQ(grid.shape(), (Shape{7, 5}));
    for (int i = 0; i < 35; ++i)
      EXPECT_EQ(grid.data<float>()[static_cast<std::size_t>(i)], static_cast<float>(i)) << name;
  }
  EXPECT_EQ(at(root_, "chunked/sparse").data<std::int32_t>()[34], -1);
}

INSTANTIATE_TEST_SUITE_P(Layouts, Hdf5Sample, testing::Values("earliest", "latest"));

TEST(Hdf5, TheWeightsThatKerasWroteAreAtTheirPaths) {
  const Hdf5Object root = load_hdf5(kData + "models/tiny_cnn.weights.h5");
  EXPECT_EQ(at(root, "layers/conv2d/vars/0").shape(), (Shape{3, 3, 1, 4}));
  EXPECT_EQ(root.find("layers/dense_1/vars")->attributes.at("name").strings()[0], "dense_1");
  EXPECT_EQ(at(root, "optimizer/vars/0").item<std::int64_t>(), 2);
  EXPECT_EQ(root.find("layers/dense_9"), nullptr);
}

TEST(Hdf5, WhatIsWrittenIsReadBack) {
  Hdf5Object root;
  root.attributes["name"] = text("model");
  root.attributes["empty"] = text("");
  root.attributes["long"] = text(std::string(100'000, 'x'));  // more than an attribute's message can hold itself
  for (int i = 0; i < 700; ++i) root.group("many").items[std::to_string(i)].value = Tensor(i);  // a tree of two levels
  root.group("types").items["bf16"].value = Tensor::from<BFloat16>({BFloat16(1.5F)}, {1});
  root.group("types").items["bool"].value = Tensor::from<bool>({true, false}, {2});
  root.group("types").items["none"].value = Tensor::from<double>({}, {0, 3});
  root.group("types").items["text"].value = Tensor::from_strings({"a", "", "ü"}, {3});

  const Hdf5Object back = hdf5_from_bytes(hdf5_to_bytes(root));

  EXPECT_EQ(back.attributes.at("name").strings()[0], "model");
  EXPECT_EQ(back.attributes.at("empty").strings()[0], "");
  EXPECT_EQ(back.attributes.at("long").strings()[0].size(), 100'000U);
  ASSERT_EQ(back.find("many")->items.size(), 700U);
  for (int i = 0; i < 700; ++i) EXPECT_EQ(at(back, "many/" + std::to_string(i)).item<int>(), i);
  EXPECT_EQ(at(back, "types/bf16").dtype(), DType::bf16);
  EXPECT_EQ(at(back, "types/bf16").item<double>(), 1.5);
  EXPECT_TRUE(at(back, "types/bool").data<bool>()[0]);
  EXPECT_EQ(at(back, "types/none").shape(), (Shape{0, 3}));
  EXPECT_EQ(at(back, "types/text").strings(), (std::vector<std::string>{"a", "", "ü"}));
}

std::string message_of(std::string_view bytes) {
  try {
    hdf5_from_bytes(bytes, "model.h5");
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(Hdf5, AFlippedByteOfTheDataIsFoundByTheChecksum) {
  Hdf5Object root;
  root.attributes["model_config"] = text("a description");
  root.group("layers/dense/vars").items["0"].value = Tensor::from<float>({1, 2, 3}, {3});
  const std::string whole = hdf5_to_bytes(root);
  EXPECT_EQ(message_of(whole), "no error");
  EXPECT_EQ(hdf5_from_bytes(whole).attributes.size(), 1U);  // the checksum is not part of what was written
  const float two = 2;
  for (const std::string& part : {std::string(reinterpret_cast<const char*>(&two), 4), std::string("a description")}) {
    std::string flipped = whole;
    flipped[flipped.find(part) + 3] ^= 1;
    EXPECT_NE(message_of(flipped).find("E0502 model.h5: its contents do not fit its checksum"), std::string::npos)
        << message_of(flipped);
  }
}

TEST(Hdf5, ATruncatedFileSaysSo) {
  const std::string whole = read_file(kData + "models/tiny_cnn.weights.h5");
  const std::string message = message_of(std::string_view(whole).substr(0, 20'000));
  EXPECT_NE(
      message.find(
          "E0502 model.h5: the superblock at byte 0: the file should have 43632 bytes but has 20000; it is truncated"),
      std::string::npos)
      << message;
  EXPECT_NE(message_of("PK").find("no HDF5 file"), std::string::npos);
}

TEST(Hdf5, AnErrorNamesTheObjectThatWasRead) {
  std::string bytes = read_file(kData + "models/tiny_cnn.weights.h5");
  bytes.replace(bytes.rfind("SNOD"), 4, "SNOX");
  EXPECT_NE(message_of(bytes).find("a symbol table at byte "), std::string::npos) << message_of(bytes);
  EXPECT_NE(message_of(bytes).find("(reading /"), std::string::npos) << message_of(bytes);
}

TEST(Hdf5, AGroupThatContainsItselfEndsInAnError) {
  Hdf5Object root;
  root.group("a").items["x"].value = Tensor(1);
  std::string bytes = hdf5_to_bytes(root);
  std::uint64_t root_header;
  std::memcpy(&root_header, bytes.data() + 64, 8);
  // The entry of "a" in the root's table is the last one written: let it lead to the root.
  std::memcpy(bytes.data() + bytes.rfind("SNOD") + 16, &root_header, 8);
  EXPECT_NE(message_of(bytes).find("two links lead to the group"), std::string::npos) << message_of(bytes);
}

TEST(Hdf5, AnArrayLargerThanTheFileIsRefusedBeforeItIsAllocated) {
  Hdf5Object root;
  root.items["x"].value = Tensor::from<float>({1, 2, 3}, {3});
  std::string bytes = hdf5_to_bytes(root);
  const std::string shape("\1\1\0\0\0\0\0\0\3", 9);
  bytes[bytes.find(shape) + 13] = '\x40';  // 2^38 elements more
  EXPECT_NE(message_of(bytes).find("are stored (reading /x)"), std::string::npos) << message_of(bytes);
}

TEST(Hdf5, NoCutOrFlippedByteOfAFileDoesMoreThanThrow) {
  const std::string whole = read_file(kData + "hdf5_earliest.h5");
  for (std::size_t i = 0; i < whole.size(); i += 3) {
    std::string flipped = whole;
    flipped[i] = static_cast<char>(flipped[i] ^ (1 << (i % 8)));
    try {
      hdf5_from_bytes(flipped);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::bad_file) << error.what();
    }
  }
}

}  // namespace
}  // namespace tandem
