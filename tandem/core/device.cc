#include "tandem/core/device.h"

#include <algorithm>
#include <cctype>

#include "tandem/base/error.h"

namespace tandem {
namespace {

[[noreturn]] void not_a_device(std::string_view text) {
  fail(ErrorCode::unknown_device, "'", text,
       "' is not a device name; write \"/CPU:0\", \"/GPU:1\", \"/device:GPU:0\" or "
       "\"/job:localhost/replica:0/task:0/device:GPU:0\"");
}

int parse_index(std::string_view digits, std::string_view whole) {
  if (digits.empty() || digits.size() > 6) not_a_device(whole);
  int value = 0;
  for (char c : digits) {
    if (!std::isdigit(static_cast<unsigned char>(c))) not_a_device(whole);
    value = value * 10 + (c - '0');
  }
  return value;
}

/// "GPU:1", "gpu", "GPU:*": the kind and index of a device.
DeviceName parse_kind(std::string_view part, std::string_view whole) {
  const std::size_t colon = part.find(':');
  DeviceName name;
  name.kind = std::string(part.substr(0, colon));
  for (char& c : name.kind) {
    if (!std::isalpha(static_cast<unsigned char>(c)) && c != '_') not_a_device(whole);
    c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  if (name.kind != "CPU" && name.kind != "GPU") not_a_device(whole);
  if (colon == std::string_view::npos || part.substr(colon) == ":*") return name;
  name.index = parse_index(part.substr(colon + 1), whole);
  return name;
}

}  // namespace

std::string DeviceName::short_name() const { return "/" + kind + ":" + std::to_string(index); }

std::string DeviceName::long_name() const {
  return "/job:localhost/replica:0/task:0/device:" + kind + ":" + std::to_string(index);
}

DeviceName DeviceName::parse(std::string_view text) {
  DeviceName name;
  bool found = false;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t slash = std::min(text.find('/', begin), text.size());
    std::string_view part = text.substr(begin, slash - begin);
    begin = slash + 1;
    if (part.empty()) continue;
    if (part.starts_with("job:") || part.starts_with("replica:") || part.starts_with("task:")) {
      if (part != "job:localhost" && part != "replica:0" && part != "task:0")
        fail(ErrorCode::unknown_device, text, " unknown device: this process is /job:localhost/replica:0/task:0");
      continue;
    }
    if (part.starts_with("device:")) part.remove_prefix(7);
    if (found) not_a_device(text);
    name = parse_kind(part, text);
    found = true;
  }
  if (!found) not_a_device(text);
  return name;
}

}  // namespace tandem
