// Parts of sizes that are left open: the same numbers as with the sizes known.
#include "tandem/op/open_size.h"

#include <gtest/gtest.h>

#include "tests/error_of.h"

namespace tandem {
namespace {

class SizeParts : public ::testing::Test {
 protected:
  void SetUp() override { size_notes() = &notes_; }
  void TearDown() override { size_notes() = nullptr; }

  /// What a number of the trace is for a first size of `n` and a second of `m`.
  std::int64_t at(std::int64_t traced, std::int64_t n, std::int64_t m = 1) const {
    const auto all = notes_.all_sizes(std::array{n, m});
    const auto number = open_number(traced);
    return all && number ? number->at(*all).value_or(-1) : -1;
  }

  SizeNotes notes_;
  const std::int64_t n_ = open_size(0), m_ = open_size(1);
};

std::int64_t floor_of(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0); }

TEST_F(SizeParts, AreThoseOfTheSizesThatCome) {
  for (const std::int64_t divisor : {1, 2, 3, 7})
    for (const std::int64_t times : {-3, -1, 1, 2, 6})
      for (const std::int64_t rest : {-5, 0, 1, 4}) {
        notes_ = {};
        const std::int64_t part = floor_of_sizes(times * n_ + rest, divisor);
        for (std::int64_t n = 1; n < 12; ++n)
          EXPECT_EQ(at(part, n), floor_of(times * n + rest, divisor))
              << times << "n + " << rest << " / " << divisor << ", n = " << n;
      }
}

TEST_F(SizeParts, OfTheSameSizeAreTheSame) {
  EXPECT_EQ(floor_of_sizes(n_, 2), floor_of_sizes(n_ + 2, 2) - 1);
  EXPECT_EQ(floor_of_sizes(n_ - 1, 2) + 1, floor_of_sizes(n_ + 1, 2));
  EXPECT_EQ(floor_of_sizes(3 * n_, 2), n_ + floor_of_sizes(n_, 2));
  EXPECT_NE(floor_of_sizes(n_, 2), floor_of_sizes(n_ + 1, 2));
  EXPECT_NE(2 * floor_of_sizes(n_, 2), n_);
  EXPECT_EQ(floor_of_sizes(4 * n_ + 8, 4), n_ + 2);
}

TEST_F(SizeParts, OfPartsAndOfOtherSizesAreKeptApart) {
  const std::int64_t half = floor_of_sizes(n_, 2), quarter = floor_of_sizes(half, 2), third = floor_of_sizes(m_, 3),
                     both = floor_of_sizes(n_ + m_, 4);
  for (std::int64_t n = 1; n < 10; ++n)
    for (std::int64_t m = 1; m < 10; ++m) {
      EXPECT_EQ(at(half, n, m), n / 2);
      EXPECT_EQ(at(quarter, n, m), n / 2 / 2);
      EXPECT_EQ(at(third, n, m), m / 3);
      EXPECT_EQ(at(both, n, m), (n + m) / 4);
      EXPECT_EQ(at(n_ - half, n, m), n - n / 2);
    }
}

TEST_F(SizeParts, AreNoMoreThanThereAreNumbersFor) {
  for (std::int64_t divisor = 2; divisor < 2 + static_cast<std::int64_t>(kMostSizeParts); ++divisor)
    floor_of_sizes(n_, divisor);
  EXPECT_NE(error_of([&] { floor_of_sizes(n_, 50); }).find("different parts of open sizes"), std::string::npos);
  EXPECT_EQ(at(floor_of_sizes(n_, 3), 8), 2);
}

TEST_F(SizeParts, OfKnownSizesAreNumbers) {
  EXPECT_EQ(floor_of_sizes(7, 2), 3);
  EXPECT_EQ(floor_of_sizes(-7, 2), -4);
  size_notes() = nullptr;  // without a trace nothing is open
  EXPECT_EQ(floor_of_sizes(std::int64_t{1} << 41, 2), std::int64_t{1} << 40);
}

}  // namespace
}  // namespace tandem
