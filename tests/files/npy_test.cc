#include "tandem/files/npy.h"

#include <gtest/gtest.h>
#include <zip.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "tandem/core/print.h"

namespace tandem {
namespace {

std::string npy_file(std::string dict, const std::string& data, char major = 1) {
  dict += '\n';
  std::string out("\x93NUMPY", 6);
  out += major;
  out += '\0';
  const std::uint32_t length = static_cast<std::uint32_t>(dict.size());
  for (int i = 0; i < (major == 1 ? 2 : 4); ++i) out += static_cast<char>(length >> (8 * i) & 0xFF);
  return out + dict + data;
}

std::string header(const std::string& descr, const std::string& shape, const char* fortran = "False") {
  return "{'descr': '" + descr + "', 'fortran_order': " + fortran + ", 'shape': " + shape + ", }";
}

template <class T>
std::string raw(std::initializer_list<T> values) {
  return {reinterpret_cast<const char*>(values.begin()), values.size() * sizeof(T)};
}

/// The error that reading `bytes` throws.
Error error_of(const std::string& bytes) {
  try {
    npy_from_bytes(bytes, "evil.npy");
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("evil.npy"), std::string::npos) << error.what();
    return error;
  }
  ADD_FAILURE() << "no error";
  return {ErrorCode::internal, ""};
}

class Npy : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::path(testing::TempDir()) / testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::filesystem::path folder_;
};

TEST_F(Npy, EveryDtypeComesBackAsItWasSaved) {
  for (DType dtype :
       {DType::f16, DType::f32, DType::f64, DType::i8, DType::u8, DType::i32, DType::i64, DType::boolean}) {
    const Tensor scalar = Tensor::scalar(std::int64_t{1}, dtype);
    save_npy(path("x.npy"), scalar);
    const Tensor back = load_npy(path("x.npy"));
    EXPECT_EQ(back.spec(), scalar.spec());
    EXPECT_EQ(numpy_repr(back), numpy_repr(scalar));
  }
  const Tensor words = Tensor::from_strings({"a", "", "longer"}, {3, 1});
  EXPECT_EQ(numpy_repr(npy_from_bytes(npy_to_bytes(words))), numpy_repr(words));
  const Tensor none = Tensor::from(std::vector<float>{}, {0, 3});
  EXPECT_EQ(npy_from_bytes(npy_to_bytes(none)).shape(), (Shape{0, 3}));
}

TEST_F(Npy, AllFormatVersionsAreRead) {
  for (char major : {1, 2, 3})
    EXPECT_EQ(npy_from_bytes(npy_file(header("<f4", "(2,)"), raw({1.f, 2.f}), major)).to_vector<float>(),
              (std::vector<float>{1, 2}));
}

TEST_F(Npy, FortranOrderIsTurnedIntoRows) {
  const Tensor t = npy_from_bytes(npy_file(header("<i4", "(2, 3)", "True"), raw({1, 4, 2, 5, 3, 6})));
  EXPECT_EQ(t.to_vector<std::int32_t>(), (std::vector<std::int32_t>{1, 2, 3, 4, 5, 6}));
}

TEST_F(Npy, BigEndianIsSwapped) {
  EXPECT_EQ(npy_from_bytes(npy_file(header(">i4", "(1,)"), std::string("\0\0\1\2", 4))).item<int>(), 258);
}

TEST_F(Npy, TextArraysBecomeStrings) {
  const std::string unicode = raw<std::uint32_t>({'h', 0xE9, 0, 0x1F600, 0, 0});
  EXPECT_EQ(npy_from_bytes(npy_file(header("<U3", "(2,)"), unicode)).strings(),
            (std::vector<std::string>{"h\xC3\xA9", "\xF0\x9F\x98\x80"}));
  EXPECT_EQ(npy_from_bytes(npy_file(header("|S3", "(2,)"), std::string("ab\0c\0\0", 6))).strings(),
            (std::vector<std::string>{"ab", "c"}));
}

TEST_F(Npy, OtherBytesThanZeroAndOneBecomeTrue) {
  EXPECT_EQ(npy_from_bytes(npy_file(header("|b1", "(3,)"), std::string("\0\1\x80", 3))).to_vector<bool>(),
            (std::vector<bool>{false, true, true}));
}

TEST_F(Npy, ABFloat16IsRefusedWithTheRemedy) {
  try {
    npy_to_bytes(Tensor::scalar(1.0, DType::bf16));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::unsupported_dtype);
    EXPECT_NE(std::string(error.what()).find("float32"), std::string::npos);
  }
}

TEST_F(Npy, AHeaderThatPromisesMoreThanTheFileHoldsIsRefusedBeforeAllocating) {
  EXPECT_EQ(error_of(npy_file(header("<f4", "(1000000000000,)"), "abcd")).code(), ErrorCode::bad_file);
  EXPECT_EQ(error_of(npy_file(header("<f8", "(4611686018427387904,)"), "abcd")).code(), ErrorCode::bad_file);
  EXPECT_EQ(error_of(npy_file(header("<f4", "(4294967296, 4294967296, 4)"), "abcd")).code(), ErrorCode::bad_file);
  EXPECT_EQ(error_of(npy_file(header("<f4", "(99999999999999999999,)"), "abcd")).code(), ErrorCode::bad_file);
  EXPECT_EQ(error_of(npy_file(header("|S0", "(1000000000000,)"), "")).code(), ErrorCode::bad_file);
  EXPECT_EQ(error_of(npy_file(header("<U900000000", "(5,)"), "abcd")).code(), ErrorCode::bad_file);
}

TEST_F(Npy, EveryTruncationIsAnError) {
  const std::string whole = npy_to_bytes(Tensor::from({1.f, 2.f, 3.f}, {3}));
  for (std::size_t n = 0; n < whole.size(); ++n) {
    EXPECT_EQ(error_of(whole.substr(0, n)).code(), ErrorCode::bad_file) << n;
  }
}

TEST_F(Npy, EveryFlippedHeaderBitGivesATensorOrAnError) {
  const std::string whole = npy_to_bytes(Tensor::from({1.f, 2.f, 3.f}, {3}));
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string changed = whole;
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ 1 << (bit % 8));
    try {
      EXPECT_LE(npy_from_bytes(changed).size(), 12);
    } catch (const Error& error) {
      EXPECT_NE(error.code(), ErrorCode::internal) << error.what();
    }
  }
}

TEST_F(Npy, ForeignContentIsNamed) {
  EXPECT_EQ(error_of("PK\x03\x04 something else").code(), ErrorCode::bad_file);
  EXPECT_EQ(error_of(npy_file(header("|O", "(1,)"), "pickle")).code(), ErrorCode::bad_file);
  EXPECT_EQ(error_of(npy_file(header("<c8", "(1,)"), "12345678")).code(), ErrorCode::unsupported_dtype);
  EXPECT_EQ(error_of(npy_file(header("<V2", "(1,)"), "12")).code(), ErrorCode::unsupported_dtype);
  EXPECT_EQ(error_of(npy_file("{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (1,), }", "1234")).code(),
            ErrorCode::unsupported_dtype);
  EXPECT_EQ(error_of(npy_file(header("<f4", "(1, 1, 1, 1, 1, 1, 1, 1, 1)"), "1234")).code(), ErrorCode::bad_file);
  EXPECT_EQ(error_of(npy_file(header("<f4", "(-1,)"), "1234")).code(), ErrorCode::bad_file);
  EXPECT_EQ(error_of(npy_file("{'descr': '<f4', 'shape': (1,), }", "1234")).code(), ErrorCode::bad_file);
  EXPECT_EQ(error_of(npy_file("", "")).code(), ErrorCode::bad_file);
  EXPECT_EQ(error_of(npy_file(header("<U1", "(1,)"), std::string("\xff\xff\xff\x7f"))).code(), ErrorCode::bad_file);
}

TEST_F(Npy, AMissingFileIsNamed) {
  for (const std::string& name : {path("none.npy"), folder_.string()}) {
    try {
      load_npy(name);
      FAIL();
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::file_error);
      EXPECT_NE(std::string(error.what()).find(name), std::string::npos);
    }
  }
}

TEST_F(Npy, ArchivesComeBackStoredOrDeflated) {
  const NamedTensors tensors{{"a", Tensor::from({1.f, 2.f}, {2})}, {"b/c", Tensor::from({7}, {1, 1})}};
  for (bool compressed : {false, true}) {
    save_npz(path("x.npz"), tensors, compressed);
    for (const NamedTensors& back : {load_npz(path("x.npz")), npz_from_bytes(npz_to_bytes(tensors, compressed))}) {
      ASSERT_EQ(back.size(), 2u);
      EXPECT_EQ(numpy_repr(back.at("a")), numpy_repr(tensors.at("a")));
      EXPECT_EQ(numpy_repr(back.at("b/c")), numpy_repr(tensors.at("b/c")));
    }
  }
}

TEST_F(Npy, DamagedArchivesAreErrors) {
  const std::string whole = npz_to_bytes({{"a", Tensor::from({1.f, 2.f}, {2})}}, true);
  int errors = 0;
  for (std::size_t n = 0; n < whole.size(); ++n) {
    std::string changed = whole;
    changed[n] = static_cast<char>(changed[n] ^ 0x55);
    for (const std::string& bytes : {changed, whole.substr(0, n)}) {
      try {
        npz_from_bytes(bytes, "evil.npz");
      } catch (const Error& error) {
        ++errors;
        EXPECT_NE(error.code(), ErrorCode::internal) << error.what();
        EXPECT_NE(std::string(error.what()).find("evil.npz"), std::string::npos) << error.what();
      }
    }
  }
  EXPECT_GT(errors, static_cast<int>(whole.size()));
}

}  // namespace
}  // namespace tandem
