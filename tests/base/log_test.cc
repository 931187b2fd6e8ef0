#include "tandem/base/log.h"

#include <gtest/gtest.h>

#include <regex>
#include <vector>

namespace tandem {
namespace {

/// Keeps what is logged while it lives.
class Kept {
 public:
  Kept() : before_(set_log_sink([this](const LogLine& line) { lines.push_back(line.text()); })), level_(log_level()) {}
  ~Kept() {
    set_log_sink(before_);
    set_log_level(level_);
  }
  std::vector<std::string> lines;

 private:
  LogSink before_;
  LogLevel level_;
};

TEST(Log, ALineReadsAsTensorFlowsDo) {
  Kept kept;
  set_log_level(LogLevel::info);
  log(LogLevel::warning, "careful");
  ASSERT_EQ(kept.lines.size(), 1u);
  EXPECT_TRUE(std::regex_match(kept.lines[0], std::regex(R"(W0000 00:00:\d+\.\d{6} +\d+ log_test\.cc:\d+\] careful)")))
      << kept.lines[0];
}

TEST(Log, OnlyLinesOfTheLevelSetAreWritten) {
  Kept kept;
  for (LogLevel level : {LogLevel::info, LogLevel::warning, LogLevel::error, LogLevel::off}) {
    set_log_level(level);
    kept.lines.clear();
    for (LogLevel of : {LogLevel::info, LogLevel::warning, LogLevel::error}) log(of, "x");
    EXPECT_EQ(kept.lines.size(), 3u - static_cast<unsigned>(level));
  }
}

TEST(Log, WithoutASinkLinesGoToStderr) {
  const LogSink before = set_log_sink({});
  testing::internal::CaptureStderr();
  log(LogLevel::error, "to the terminal");
  const std::string written = testing::internal::GetCapturedStderr();
  set_log_sink(before);
  EXPECT_NE(written.find("] to the terminal\n"), std::string::npos) << written;
}

}  // namespace
}  // namespace tandem
