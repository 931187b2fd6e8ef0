// Builds a message from its parts: text("got ", shape, ", needed ", 2).
#pragma once
#include <sstream>
#include <string>

namespace tandem {

template <class... Parts>
std::string text(const Parts&... parts) {
  std::ostringstream out;
  (out << ... << parts);
  return out.str();
}

/// "a, b, c" from any range whose elements can be printed.
template <class Range>
std::string join(const Range& range, const char* separator = ", ") {
  std::ostringstream out;
  const char* gap = "";
  for (const auto& item : range) {
    out << gap << item;
    gap = separator;
  }
  return out.str();
}

}  // namespace tandem
