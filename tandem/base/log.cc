#include "tandem/base/log.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <mutex>

#include "tandem/base/environment.h"
#include "tandem/base/error.h"

namespace tandem {
namespace {

constexpr std::array<std::string_view, 4> kLevels{"info", "warning", "error", "off"};

LogLevel level_from_environment() {
  if (const auto word = environment("TANDEM_LOG"); word && !word->empty()) {
    for (std::size_t i = 0; i < kLevels.size(); ++i)
      if (*word == kLevels[i] || *word == std::to_string(i)) return static_cast<LogLevel>(i);
    fail(ErrorCode::invalid_argument, "TANDEM_LOG='", *word, "': needed is info, warning, error or off (or 0 to 3)");
  }
  // TensorFlow's variable may say what only TensorFlow understands: it counts when it is one of these four.
  const std::string word = environment("TF_CPP_MIN_LOG_LEVEL").value_or("");
  if (word.size() == 1 && word[0] >= '0' && word[0] <= '3') return static_cast<LogLevel>(word[0] - '0');
  return LogLevel::info;
}

std::atomic<LogLevel>& level() {
  static std::atomic<LogLevel> level{level_from_environment()};
  return level;
}

// Not destroyed: lines may be written while the process ends.
std::mutex& sink_mutex() {
  static auto& mutex = *new std::mutex;
  return mutex;
}
LogSink& sink() {
  static auto& sink = *new LogSink;
  return sink;
}

}  // namespace

std::string LogLine::text() const {
  using namespace std::chrono;
  const auto now = duration_cast<microseconds>(system_clock::now().time_since_epoch()).count();
  char head[64];
  std::snprintf(head, sizeof(head), "%c0000 00:00:%lld.%06lld %7ld ", "IWE"[static_cast<int>(level)],
                static_cast<long long>(now / 1'000'000), static_cast<long long>(now % 1'000'000), syscall(SYS_gettid));
  return tandem::text(head, file, ":", line, "] ", message);
}

LogLevel log_level() { return level().load(std::memory_order_relaxed); }
void set_log_level(LogLevel wanted) { level().store(wanted, std::memory_order_relaxed); }

LogSink set_log_sink(LogSink wanted) {
  std::lock_guard lock(sink_mutex());
  std::swap(sink(), wanted);
  return wanted;
}

void log(LogLevel of, std::string_view message, std::source_location where) {
  if (of < log_level() || of == LogLevel::off) return;
  std::string_view file = where.file_name();
  file.remove_prefix(file.rfind('/') == file.npos ? 0 : file.rfind('/') + 1);
  const LogLine line{of, file, where.line(), message};
  std::lock_guard lock(sink_mutex());
  if (sink()) sink()(line);
  else std::fputs((line.text() + "\n").c_str(), stderr);
}

}  // namespace tandem
