#include "tandem/base/environment.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "tandem/base/error.h"

namespace tandem {
namespace {

constexpr int kMostCores = 1024;  // as many as an affinity mask has

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

std::optional<long> whole_number(std::string_view text) {
  long value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size()) return {};
  return value;
}

[[noreturn]] void bad_cores(std::string_view what, std::string_view text) {
  fail(ErrorCode::invalid_argument, what, "='", text,
       "': needed are numbers of cores and ranges of them, such as 0 or 0,2-3");
}

}  // namespace

std::optional<std::string> environment(const char* name) {
  const char* value = std::getenv(name);
  return value ? std::optional<std::string>(value) : std::nullopt;
}

long parse_number(std::string_view what, std::string_view text, long low, long high) {
  const auto value = whole_number(trimmed(text));
  if (!value || *value < low || *value > high)
    fail(ErrorCode::invalid_argument, what, "='", text, "': a whole number from ", low, " to ", high, " is needed");
  return *value;
}

bool parse_switch(std::string_view what, std::string_view text) {
  const std::string_view word = trimmed(text);
  if (word != "0" && word != "1") fail(ErrorCode::invalid_argument, what, "='", text, "': 0 or 1 is needed");
  return word == "1";
}

std::vector<int> parse_cores(std::string_view what, std::string_view text) {
  std::vector<int> cores;
  for (std::string_view part : split_words(text, ',')) {
    const std::size_t dash = part.find('-');
    const auto first = whole_number(part.substr(0, dash));
    const auto last = dash == part.npos ? first : whole_number(part.substr(dash + 1));
    if (!first || !last || *first < 0 || *last < *first || *last >= kMostCores) bad_cores(what, text);
    for (long core = *first; core <= *last; ++core) cores.push_back(static_cast<int>(core));
  }
  if (cores.empty()) bad_cores(what, text);
  std::sort(cores.begin(), cores.end());
  cores.erase(std::unique(cores.begin(), cores.end()), cores.end());
  return cores;
}

std::optional<long> environment_number(const char* name, long low, long high) {
  const auto text = environment(name);
  if (!text || text->empty()) return {};
  return parse_number(name, *text, low, high);
}

std::optional<bool> environment_switch(const char* name) {
  const auto text = environment(name);
  if (!text || text->empty()) return {};
  return parse_switch(name, *text);
}

std::vector<int> environment_cores(const char* name) {
  const auto text = environment(name);
  if (!text || text->empty()) return {};
  return parse_cores(name, *text);
}

std::vector<std::string_view> split_words(std::string_view text, char separator) {
  std::vector<std::string_view> words;
  if (trimmed(text).empty()) return words;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(separator, begin), text.size());
    words.push_back(trimmed(text.substr(begin, end - begin)));
    begin = end + 1;
  }
  return words;
}

}  // namespace tandem
