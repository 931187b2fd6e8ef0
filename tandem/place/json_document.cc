#include "tandem/place/json_document.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "tandem/base/error.h"
#include "tandem/base/nearest.h"

namespace tandem::placer {
namespace {

using Json = nlohmann::json;

constexpr std::size_t kMostDepth = 32;
constexpr std::size_t kFewestKeyLetters = 4,
                      kMostKeyLetters = 60;  // of keys that may be misspelt ones: short words are all alike
constexpr std::size_t kMostBytes = std::size_t{1} << 30;

/// Bytes that are no UTF-8, and letters that were cut, become U+FFFD.
std::string as_utf8(const std::string& bytes) {
  return Json::parse(Json(bytes).dump(-1, ' ', false, Json::error_handler_t::replace)).get<std::string>();
}

/// Names of a hostile file in a message: not endless, and nothing that a terminal obeys.
std::string shown(std::string_view name) {
  constexpr std::size_t kMostShown = 100;
  std::string letters(name.substr(0, kMostShown));
  std::ranges::replace_if(letters, [](unsigned char letter) { return std::iscntrl(letter); }, '?');
  return name.size() > kMostShown ? as_utf8(letters) + "..." : letters;
}

std::string step_text(std::string_view key, std::int64_t index) {
  if (index >= 0) return text("[", index, "]");
  const bool plain = !key.empty() && std::ranges::all_of(key, [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
  });
  return plain ? text(".", shown(key)) : text("[\"", shown(key), "\"]");
}

std::string joined(const std::vector<std::string>& steps) {
  std::string all = join(steps, "");
  if (all.starts_with(".")) all.erase(0, 1);
  return all.empty() ? "the file" : all;
}

std::size_t line_at(std::string_view text, std::size_t byte) {
  return 1 + static_cast<std::size_t>(std::count(
                 text.begin(), text.begin() + static_cast<std::ptrdiff_t>(std::min(byte, text.size())), '\n'));
}

/// Counts the bytes that the parser has read.
class CountingIterator {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;
  CountingIterator(const char* at, std::size_t* count) : at_(at), count_(count) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    ++at_;
    ++*count_;
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const CountingIterator& other) const { return at_ == other.at_; }

 private:
  const char* at_;
  std::size_t* count_;
};

/// Follows the parser through the file and knows where it is.
class Follower : public Json::json_sax_t {
 public:
  bool null() override { return value(Json(nullptr)); }
  bool boolean(bool v) override { return value(Json(v)); }
  bool number_integer(number_integer_t v) override { return value(Json(v)); }
  bool number_unsigned(number_unsigned_t v) override { return value(Json(v)); }
  bool number_float(number_float_t v, const string_t&) override { return value(Json(v)); }
  bool string(string_t& v) override { return value(Json(std::move(v))); }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override { return open(Json::object()); }
  bool start_array(std::size_t) override { return open(Json::array()); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(string_t& name) override {
    levels_.back().key = name;
    return new_key(name);
  }
  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception& error) override {
    byte = position;
    problem = error.what();
    // "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error …": our own line is said already.
    if (const auto at = problem.find("] "); at != std::string::npos) problem.erase(0, at + 2);
    if (const auto at = problem.find(": "); problem.starts_with("parse error") && at != std::string::npos)
      problem.erase(0, at + 2);
    // What it read last may be a string without an end.
    constexpr std::size_t kMostShown = 160, kEndShown = 60;
    if (problem.size() > kMostShown) problem.replace(kMostShown - kEndShown, problem.size() - kMostShown, "...");
    problem = as_utf8(problem);
    return false;
  }

  std::size_t byte = 0;  // of a syntax error
  std::string problem;

 protected:
  struct Level {
    bool is_array = false;
    std::string key;
    std::int64_t next = 0;
  };
  virtual bool arrived(Json&& value) = 0;  // at a value; `steps()` is its place
  virtual bool left() { return true; }
  virtual bool new_key(const std::string&) { return true; }

  std::vector<std::string> steps() const {
    std::vector<std::string> list;
    for (const Level& level : levels_) list.push_back(step_text(level.key, level.is_array ? level.next - 1 : -1));
    return list;
  }
  std::vector<Level> levels_;

 private:
  bool value(Json&& v) {
    if (!levels_.empty() && levels_.back().is_array) ++levels_.back().next;
    return arrived(std::move(v));
  }
  bool open(Json&& v) {
    const bool is_array = v.is_array();
    if (levels_.size() >= kMostDepth) {
      problem = text("nested more than ", kMostDepth, " deep");
      return false;
    }
    if (!value(std::move(v))) return false;
    levels_.push_back({is_array, {}, 0});
    return true;
  }
  bool close() {
    levels_.pop_back();
    return left();
  }
};

class TreeBuilder : public Follower {
 public:
  TreeBuilder(Json& root, std::span<const JsonLimit> limits) : root_(root), limits_(limits) {}

 protected:
  bool arrived(Json&& v) override {
    Json* here = &root_;
    if (open_.empty()) root_ = std::move(v);
    else if (open_.back()->is_array()) {
      if (!below_limit()) return false;
      here = &open_.back()->emplace_back(std::move(v));
    } else {
      here = &(*open_.back())[levels_.back().key];
      *here = std::move(v);
    }
    if (here->is_structured()) open_.push_back(here);
    return true;
  }
  bool left() override {
    open_.pop_back();
    return true;
  }
  bool new_key(const std::string& name) override {
    if (!open_.back()->contains(name)) return true;
    problem = text("the key \"", shown(name), "\" appears twice in one object");
    return false;
  }

 private:
  bool below_limit() {
    if (levels_.size() != 2) return true;
    for (const JsonLimit& limit : limits_)
      if (levels_[0].key == limit.key && open_.back()->size() >= limit.most) {
        problem = text("\"", limit.key, "\" has more than ", limit.most, " elements, the most that are read");
        return false;
      }
    return true;
  }

  Json& root_;
  std::span<const JsonLimit> limits_;
  std::vector<Json*> open_;  // an array's elements move only while none of them is open
};

class LineFinder : public Follower {
 public:
  explicit LineFinder(const std::vector<std::string>& wanted) : wanted_(wanted) {}

 protected:
  bool arrived(Json&&) override { return !(levels_.size() == wanted_.size() && steps() == wanted_); }

 private:
  const std::vector<std::string>& wanted_;
};

/// Bytes read until the end, or until the follower stopped it.
std::size_t follow(std::string_view text, Follower& follower) {
  std::size_t count = 0;
  Json::sax_parse(CountingIterator(text.data(), &count), CountingIterator(text.data() + text.size(), &count),
                  &follower);
  return count;
}

}  // namespace

JsonDocument::JsonDocument(std::string_view text, std::string_view source, std::span<const JsonLimit> limits)
    : text_(text),
      source_(source),
      root_(std::make_unique<Json>()) {
  TreeBuilder builder(*root_, limits);
  const std::size_t read = follow(text_, builder);
  if (!builder.problem.empty())
    fail(ErrorCode::bad_file, source_, ":", line_at(text_, builder.byte ? builder.byte - 1 : read), ": ",
         builder.problem);
}

JsonDocument::~JsonDocument() = default;

JsonValue JsonDocument::root() const { return JsonValue(*this, *root_); }

std::size_t JsonDocument::line_of(const std::vector<std::string>& place) const {
  LineFinder finder(place);
  const std::size_t read = follow(text_, finder);
  return line_at(text_, read ? read - 1 : 0);
}

std::string JsonValue::place() const {
  std::vector<std::string> list;
  for (std::size_t i = 0; i < depth_; ++i) list.push_back(step_text(steps_[i].key, steps_[i].index));
  return joined(list);
}

void JsonValue::complain(const std::string& what) const {
  std::vector<std::string> list;
  for (std::size_t i = 0; i < depth_; ++i) list.push_back(step_text(steps_[i].key, steps_[i].index));
  fail(ErrorCode::bad_file, document_->source_, ":", document_->line_of(list), ": ", joined(list), ": ", what);
}

void JsonValue::complain_type(std::string_view wanted) const {
  std::string shown = value_->is_structured() ? std::string(value_->type_name())
                                              : value_->dump(-1, ' ', true, Json::error_handler_t::replace);
  if (shown.size() > 60) shown = shown.substr(0, 57) + "...";
  complain(text("needs ", wanted, ", got ", shown));
}

JsonValue JsonValue::step(const Json& value, Step step) const {
  JsonValue next = *this;
  next.value_ = &value;
  if (next.depth_ < kMostSteps) next.steps_[next.depth_++] = step;
  return next;
}

std::optional<JsonValue> JsonValue::find(std::string_view key) const {
  if (!value_->is_object()) complain_type("an object");
  const auto found = value_->find(std::string(key));
  if (found == value_->end()) return std::nullopt;
  return step(*found, {found.key(), -1});
}

JsonValue JsonValue::at(std::string_view key) const {
  if (auto found = find(key)) return *found;
  complain(text("\"", key, "\" is missing"));
}

std::vector<JsonValue> JsonValue::elements() const {
  if (!value_->is_array()) complain_type("an array");
  std::vector<JsonValue> list;
  list.reserve(value_->size());
  for (std::size_t i = 0; i < value_->size(); ++i)
    list.push_back(step((*value_)[i], {{}, static_cast<std::int64_t>(i)}));
  return list;
}

std::vector<std::pair<std::string, JsonValue>> JsonValue::members() const {
  if (!value_->is_object()) complain_type("an object");
  std::vector<std::pair<std::string, JsonValue>> list;
  for (auto it = value_->begin(); it != value_->end(); ++it) {
    list.emplace_back(it.key(), step(*it, {it.key(), -1}));
    list.back().second.check_name(it.key());
  }
  return list;
}

void JsonValue::complain_misspelt(std::initializer_list<std::string_view> keys) const {
  if (!value_->is_object()) complain_type("an object");
  std::vector<std::string_view> missing;
  for (const std::string_view key : keys)
    if (!value_->contains(key)) missing.push_back(key);
  for (auto it = value_->begin(); it != value_->end(); ++it) {
    const std::string& key = it.key();
    if (key.size() < kFewestKeyLetters || key.size() > kMostKeyLetters || std::ranges::find(keys, key) != keys.end())
      continue;
    if (const std::string hint = nearest_hint(key, missing); !hint.empty())
      step(*it, {key, -1}).complain(text("nothing is known of the key \"", key, "\"", hint));
  }
}

bool JsonValue::is_array() const { return value_->is_array(); }
bool JsonValue::is_string() const { return value_->is_string(); }
bool JsonValue::is_null() const { return value_->is_null(); }
std::string JsonValue::dump() const { return value_->dump(); }

std::string JsonValue::string() const {
  if (!value_->is_string()) complain_type("a string");
  return value_->get<std::string>();
}

std::string JsonValue::name() const {
  std::string name = string();
  check_name(name);
  return name;
}

void JsonValue::check_name(std::string_view name) const {
  constexpr std::size_t kMostLetters = 1000;
  if (name.size() > kMostLetters) complain(text("a name of ", name.size(), " letters; at most ", kMostLetters));
  if (std::ranges::any_of(name, [](unsigned char letter) { return std::iscntrl(letter); }))
    complain("a name has no control characters");
}

double JsonValue::number(double least) const {
  if (!value_->is_number()) complain_type("a number");
  const double number = value_->get<double>();
  if (!std::isfinite(number) || number < least) complain_type(text("a finite number of at least ", least));
  return number;
}

double JsonValue::positive() const {
  if (!value_->is_number() || !(value_->get<double>() > 0) || !std::isfinite(value_->get<double>()))
    complain_type("a finite number above 0");
  return value_->get<double>();
}

std::int64_t JsonValue::integer(std::int64_t least) const {
  constexpr double kMost = 9e18;  // of a float: below 2^63
  if (!value_->is_number()) complain_type("a whole number");
  if (value_->is_number_float()) {
    const double number = value_->get<double>();
    if (!std::isfinite(number) || number != std::floor(number) || std::abs(number) > kMost)
      complain_type("a whole number below 9e18");
  } else if (value_->is_number_unsigned() && value_->get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max()) {
    complain_type("a whole number below 2^63");
  }
  const std::int64_t whole = value_->get<std::int64_t>();
  if (whole < least) complain_type(text("a whole number of at least ", least));
  return whole;
}

bool JsonValue::boolean() const {
  if (!value_->is_boolean()) complain_type("true or false");
  return value_->get<bool>();
}

std::string read_text_file(const std::string& path) {
  if (std::filesystem::is_directory(path)) fail(ErrorCode::file_error, path, " is a folder, a file is needed");
  std::ifstream file(path, std::ios::binary);
  if (!file) fail(ErrorCode::file_error, "cannot open ", path, ": ", std::strerror(errno));
  // Pipes know no size, and some of them never end.
  constexpr std::size_t kPiece = std::size_t{1} << 20;
  std::string text;
  for (std::size_t read = 0; file; text.resize(read)) {
    if (read > kMostBytes)
      fail(ErrorCode::bad_file, path, " has more than ", kMostBytes, " bytes, the most that are read");
    text.resize(read + kPiece);
    file.read(text.data() + read, kPiece);
    read += static_cast<std::size_t>(file.gcount());
  }
  if (file.bad()) fail(ErrorCode::file_error, "cannot read ", path, ": ", std::strerror(errno));
  return text;
}

void write_text_file(const std::string& path, std::string_view text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  if (!file.flush()) fail(ErrorCode::file_error, "cannot write ", path, ": ", std::strerror(errno));
}

}  // namespace tandem::placer
