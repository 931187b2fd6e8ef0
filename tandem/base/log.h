// Lines for people: to stderr, as TensorFlow writes them, unless a program wants them elsewhere.
#pragma once
#include <functional>
#include <source_location>
#include <string>
#include <string_view>

namespace tandem {

/// TensorFlow's 0 to 3: a line is written when its level is at least the one set.
enum class LogLevel { info, warning, error, off };

struct LogLine {
  LogLevel level;
  std::string_view file;  // "eager.cc"
  unsigned line;
  std::string_view message;

  /// "W0000 00:00:1794767955.741919   17197 eager.cc:42] message"
  std::string text() const;
};

/// The least level that is written. At first what TANDEM_LOG (info, warning, error, off, or 0 to 3) says, else
/// TF_CPP_MIN_LOG_LEVEL, else info. Throws invalid_argument when TANDEM_LOG makes no sense.
LogLevel log_level();
void set_log_level(LogLevel level);

/// Takes every line that is written, one at a time; an empty one writes to stderr. Returns the sink it replaces.
using LogSink = std::function<void(const LogLine&)>;
LogSink set_log_sink(LogSink sink);

void log(LogLevel level, std::string_view message, std::source_location where = std::source_location::current());

}  // namespace tandem
