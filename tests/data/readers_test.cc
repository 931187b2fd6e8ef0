// Readers of data files: what they read, and what they say of damaged ones.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <numeric>

#include "tandem/files/crc32c.h"
#include "tandem/data/csv.h"
#include "tandem/data/example.h"
#include "tandem/data/idx.h"
#include "tandem/data/records.h"
#include "tandem/op/ops.h"
#include "tests/error_of.h"
#include "tests/temporary_folder.h"

namespace tandem {
namespace {

const std::string kSample = std::string(TANDEM_SOURCE_DIR) + "/tests/data/three_examples.tfrecord";

std::string bytes_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// A file with this content, removed again.
struct TextFile {
  explicit TextFile(const std::string& content, const std::string& ending = "txt")
      : path(folder.path("file." + ending)) {
    std::ofstream(path, std::ios::binary) << content;
  }
  const TemporaryFolder folder;
  const std::string path;
};

std::vector<std::string> strings_of(const Dataset& dataset) {
  std::vector<std::string> out;
  for (const Value& value : dataset) out.push_back(value.tensor().strings()[0]);
  return out;
}

TEST(Readers, ChecksumsAreThoseOfTheStandard) {
  EXPECT_EQ(crc32c("123456789"), 0xE3069283u);
  EXPECT_EQ(crc32c("6789", crc32c("12345")), 0xE3069283u);
}

TEST(Readers, RecordsOfTensorFlowAreReadPlainAndPacked) {
  const std::vector<std::string> plain = strings_of(tfrecord_dataset({kSample}));
  ASSERT_EQ(plain.size(), 3u);
  EXPECT_EQ(strings_of(tfrecord_dataset({kSample + ".gzip"}, "GZIP")), plain);
  EXPECT_EQ(strings_of(tfrecord_dataset({kSample + ".zlib"}, "ZLIB")), plain);
  EXPECT_EQ(strings_of(tfrecord_dataset({kSample, kSample})).size(), 6u);
  const Features first = read_example(plain[0]);
  EXPECT_EQ(std::get<0>(first.at("image")), std::vector<std::string>{std::string(4, '\0')});
  EXPECT_EQ(std::get<2>(first.at("label")), (std::vector<std::int64_t>{0, -1}));
  EXPECT_EQ(std::get<1>(first.at("w")), (std::vector<float>{.5f, .25f}));
  EXPECT_EQ(serialize_example(first), plain[0]) << "written byte for byte as TensorFlow does";
}

TEST(Readers, WrittenRecordsAreReadAgain) {
  for (const char* compression : {"", "GZIP", "ZLIB"}) {
    const TextFile file("", "tfrecord");
    std::vector<std::string> records{"", "a", std::string(1'000'000, 'x')};
    {
      RecordWriter writer(file.path, compression);
      for (const std::string& record : records) writer.write(record);
    }
    EXPECT_EQ(strings_of(tfrecord_dataset({file.path}, compression)), records) << compression;
  }
}

TEST(Readers, DamagedRecordsAreNamedAndMayBeSkipped) {
  const std::string whole = bytes_of_file(kSample);
  {
    const TextFile cut(whole.substr(0, whole.size() - 3), "tfrecord");
    EXPECT_NE(error_of([&] { strings_of(tfrecord_dataset({cut.path})); }).find("truncated record at"),
              std::string::npos);
    EXPECT_EQ(strings_of(tfrecord_dataset({cut.path}).ignore_errors()).size(), 2u);
  }
  std::string flipped = whole;
  flipped[20] = static_cast<char>(flipped[20] ^ 1);  // in the first record's content
  const TextFile damaged(flipped, "tfrecord");
  const std::string error = error_of([&] { strings_of(tfrecord_dataset({damaged.path})); });
  EXPECT_NE(error.find(damaged.path), std::string::npos) << error;
  EXPECT_NE(error.find("corrupted record"), std::string::npos) << error;
  EXPECT_NE(error.find("(record 0)"), std::string::npos) << error;
  EXPECT_EQ(strings_of(tfrecord_dataset({damaged.path}).ignore_errors()).size(), 2u);
  EXPECT_NE(error_of([&] { strings_of(tfrecord_dataset({kSample}, "GZIP")); }).find("compressed"), std::string::npos);
  EXPECT_NE(error_of([&] { strings_of(tfrecord_dataset({"/no/such/file"})); }).find("E0501"), std::string::npos);
  EXPECT_NE(error_of([&] { tfrecord_dataset({}, "LZ4"); }).find("LZ4"), std::string::npos);
}

TEST(Readers, ExamplesAreParsedOneByOneAndInBlocksAlike) {
  const TextFile file("", "tfrecord");
  {
    RecordWriter writer(file.path, "");
    for (int i = 0; i < 50; ++i)
      writer.write(serialize_example({{"x", std::vector<float>{static_cast<float>(i), 1, 2}},
                                      {"y", std::vector<std::int64_t>{i}},
                                      {"name", std::vector<std::string>{std::to_string(i)}}}));
  }
  const std::vector<FeatureSpec> features{
      {"y", DType::i64, {}}, {"x", DType::f32, {3}}, {"missing", DType::f32, {2}, false, Tensor(7.f)}};
  int calls = 0;
  const Dataset parsed = tfrecord_dataset({file.path}).map([&](const Tensor& record) {
    ++calls;
    const Tensors tensors = parse_single_example(record, features);
    return std::tuple(tensors[0], tensors[1] * 2, tensors[2]);
  });
  std::int64_t i = 0;
  for (const Value& value : parsed) {
    EXPECT_EQ(value[0].tensor().item<std::int64_t>(), i);
    EXPECT_EQ(value[1].tensor().to_vector<float>(), (std::vector<float>{2.f * static_cast<float>(i), 2, 4}));
    EXPECT_EQ(value[2].tensor().to_vector<float>(), (std::vector<float>{7, 7}));
    ++i;
  }
  EXPECT_EQ(i, 50);
  std::vector<std::int64_t> labels;
  for (const Value& value : parsed.batch(16))
    for (std::int64_t y : value[0].tensor().to_vector<std::int64_t>()) labels.push_back(y);
  EXPECT_EQ(labels.size(), 50u);
  EXPECT_EQ(labels[49], 49);
  EXPECT_EQ(calls, 1) << "recorded once";
}

TEST(Readers, ExamplesThatDoNotFitTheSpecsAreRefusedAsTensorFlowDoes) {
  const Tensor one = Tensor::from_strings({serialize_example({{"f", std::vector<float>{1, 2}}})}, {});
  EXPECT_NE(error_of([&] {
              parse_single_example(one, {{"zz", DType::f32, {}}});
            }).find("Feature: zz (data type: float32) is required but could not be found."),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              parse_single_example(one, {{"f", DType::i64, {2}}});
            }).find("Key: f.  Data types don't match. Data type: float32 but expected type: int64"),
            std::string::npos);
  EXPECT_NE(error_of([&] { parse_single_example(one, {{"f", DType::f32, {3}}}); }).find("values size: 2"),
            std::string::npos);
  EXPECT_NE(error_of([&] {
              parse_single_example(Tensor::from_strings({"\xff\xff"}, {}), {{"f", DType::f32, {}}});
            }).find("Could not parse example"),
            std::string::npos);
  const Tensors variable = parse_example(Tensor::from_strings({one.strings()[0], serialize_example({})}, {2}),
                                         {{.name = "f", .dtype = DType::f32, .variable = true}});
  EXPECT_EQ(variable[0].to_vector<float>(), (std::vector<float>{1, 2, 0, 0}));
}

TEST(Readers, LinesEndWithAndWithoutReturn) {
  const TextFile file("one\r\ntwo\n\nlast");
  EXPECT_EQ(strings_of(text_line_dataset({file.path})), (std::vector<std::string>{"one", "two", "", "last"}));
}

TEST(Readers, ARecordMayBeLongerThanWhatIsReadAtOnce) {
  const std::string line(1'500'000, 'x'), quoted = "one\n" + std::string(1'000'000, 'y') + "\nthree";
  const TextFile lines(line + "\nshort\n" + line), csv("1,\"" + quoted + "\"\n2,z\n"), open("1,\"" + quoted);
  EXPECT_EQ(strings_of(text_line_dataset({lines.path})), (std::vector<std::string>{line, "short", line}));
  const CsvOptions options{.columns = {{DType::i32}, {DType::string}}};
  std::vector<std::string> texts;
  for (const Value& row : csv_dataset({csv.path}, options)) texts.push_back(row[1].tensor().strings()[0]);
  EXPECT_EQ(texts, (std::vector<std::string>{quoted, "z"}));
  EXPECT_NE(error_of([&] {
              for (const Value& row : csv_dataset({open.path}, options)) (void)row;
            }).find("a quoted field does not end"),
            std::string::npos);
}

TEST(Readers, CsvHasQuotesMissingValuesAndTypes) {
  const TextFile file("a,b,c\n1,\"x, \"\"y\"\"\",2.5\n-7,plain,\n\n3,\"two\nlines\", 1e3 \r\n", "csv");
  const CsvOptions options{.columns = {{DType::i64}, {DType::string}, {DType::f32, Tensor(9.f)}}, .header = true};
  std::vector<std::int64_t> a;
  std::vector<std::string> b;
  std::vector<float> c;
  for (const Value& row : csv_dataset({file.path}, options)) {
    a.push_back(row[0].tensor().item<std::int64_t>());
    b.push_back(row[1].tensor().strings()[0]);
    c.push_back(row[2].tensor().item<float>());
  }
  EXPECT_EQ(a, (std::vector<std::int64_t>{1, -7, 3}));
  EXPECT_EQ(b, (std::vector<std::string>{"x, \"y\"", "plain", "two\nlines"}));
  EXPECT_EQ(c, (std::vector<float>{2.5f, 9, 1000}));
  const CsvOptions selected{.columns = {{DType::f32, Tensor(0.f), "c"}}, .select = {2}, .header = true};
  EXPECT_EQ(csv_dataset({file.path}, selected).begin()->operator[]("c").tensor().item<float>(), 2.5f);
}

TEST(Readers, NumbersOfCsvAreRoundedOnceAndRight) {
  std::string rows;
  std::vector<float> floats;
  std::vector<double> doubles;
  std::uint64_t state = 1;
  for (int i = 0; i < 20'000; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    char number[64];
    std::snprintf(number, sizeof number, "%s%.*f", state & 1 ? "-" : "", static_cast<int>(state >> 60),
                  static_cast<double>(state >> 20) / 1e9);
    if (i % 7 == 0)
      std::snprintf(number, sizeof number, "%llu.5",
                    static_cast<unsigned long long>((state >> 40) | 1u << 24));  // between two floats
    rows += std::string(number) + "," + number + "\n";
    floats.push_back(std::strtof(number, nullptr));
    doubles.push_back(std::strtod(number, nullptr));
  }
  const TextFile file(rows, "csv");
  const Value all = *csv_dataset({file.path}, {.columns = {{DType::f32}, {DType::f64}}}).batch(20'000).begin();
  EXPECT_EQ(all[0].tensor().to_vector<float>(), floats);
  EXPECT_EQ(all[1].tensor().to_vector<double>(), doubles);
}

TEST(Readers, CsvTypesAreInferred) {
  const TextFile file("i,l,f,d,s,none\n1,99999999999,1.5,1e300,abc,\n-3,2,7,8,9,\n", "csv");
  const std::vector<CsvColumn> columns = infer_csv(file.path, {.header = true});
  std::vector<DType> dtypes;
  for (const CsvColumn& column : columns) dtypes.push_back(column.dtype);
  EXPECT_EQ(dtypes, (std::vector<DType>{DType::i32, DType::i64, DType::f32, DType::f64, DType::string, DType::f32}));
  EXPECT_EQ(columns[4].name, "s");
}

TEST(Readers, BadRowsOfCsvNameFileAndLineAndMayBeSkipped) {
  const TextFile file("1,2\n3,x\n5\n6,7,8\n9,10\n", "csv");
  const Dataset dataset = csv_dataset({file.path}, {.columns = {{DType::i32}, {DType::i32}}});
  const std::string error = error_of([&] {
    for (const Value& row : dataset) static_cast<void>(row);
  });
  EXPECT_NE(error.find(file.path + ", line 2"), std::string::npos) << error;
  EXPECT_NE(error.find("not a valid int32: 'x'"), std::string::npos) << error;
  std::vector<int> first;
  for (const Value& row : dataset.ignore_errors()) first.push_back(row[0].tensor().item<int>());
  EXPECT_EQ(first, (std::vector<int>{1, 9}));
  const TextFile open("1,\"never ends\n", "csv");
  EXPECT_NE(error_of([&] {
              csv_dataset({open.path}, {.columns = {{DType::i32}, {DType::string}}}).iterate().next();
            }).find("does not end"),
            std::string::npos);
}

TEST(Readers, IdxFilesAreReadAndWrongOnesRefused) {
  const std::string header("\0\0\x0D\x01\0\0\0\x02", 8);
  const Tensor tensor = idx_from_bytes(header + std::string("\x3F\x80\0\0\xC0\0\0\0", 8));
  EXPECT_EQ(tensor.to_vector<float>(), (std::vector<float>{1, -2}));
  EXPECT_NE(error_of([&] { idx_from_bytes("PK\x08\x01"); }).find("two zero bytes"), std::string::npos);
  EXPECT_NE(error_of([&] { idx_from_bytes(header); }).find("needs 8 bytes; 0 follow"), std::string::npos);
  EXPECT_NE(error_of([&] { idx_from_bytes(std::string("\0\0\x07\x01\0\0\0\0", 8)); }).find("type 7"),
            std::string::npos);
}

}  // namespace
}  // namespace tandem
