// Reading JSON files that people wrote: every complaint names the file, the line and the place.
#pragma once
#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tandem::placer {

class JsonDocument;

/// A value of a document, with its place there.
class JsonValue {
 public:
  /// `nodes[3].cost_us`, as messages show it.
  std::string place() const;
  /// Throws bad_file: source, line, place, what is wrong.
  [[noreturn]] void complain(const std::string& what) const;

  std::optional<JsonValue> find(std::string_view key) const;  // this must be an object
  JsonValue at(std::string_view key) const;                   // complains when it is missing
  std::vector<JsonValue> elements() const;                    // this must be an array
  std::vector<std::pair<std::string, JsonValue>> members() const;  // whose keys are names as below
  /// Complains about a key that is nearly one of these, which is missing: it would be ignored without a word. Other
  /// keys are people's own.
  void complain_misspelt(std::initializer_list<std::string_view> keys) const;
  bool is_array() const;
  bool is_string() const;
  bool is_null() const;
  /// The text of the value, without its place.
  std::string dump() const;

  std::string string() const;
  std::string name() const;                 // that messages can repeat: not endless, no control characters
  double number(double least) const;        // finite
  double positive() const;
  std::int64_t integer(std::int64_t least) const;  // 1e9 and 1000.0 are integers too
  bool boolean() const;

 private:
  friend class JsonDocument;
  struct Step {
    std::string_view key;  // lives in the document; empty for an index
    std::int64_t index = -1;
  };
  static constexpr std::size_t kMostSteps = 8;

  JsonValue(const JsonDocument& document, const nlohmann::json& value) : document_(&document), value_(&value) {}
  JsonValue step(const nlohmann::json& value, Step step) const;
  [[noreturn]] void complain_type(std::string_view wanted) const;
  void check_name(std::string_view name) const;

  const JsonDocument* document_;
  const nlohmann::json* value_;
  std::array<Step, kMostSteps> steps_{};
  std::size_t depth_ = 0;
};

/// How many elements an array at the top may have: a hostile file ends the reading early.
struct JsonLimit {
  std::string_view key;
  std::size_t most;
};

class JsonDocument {
 public:
  /// `text` must outlive the document. Throws bad_file for what is no JSON, is nested too deeply, or names a key twice.
  JsonDocument(std::string_view text, std::string_view source, std::span<const JsonLimit> limits = {});
  ~JsonDocument();
  JsonDocument(const JsonDocument&) = delete;
  JsonDocument& operator=(const JsonDocument&) = delete;

  JsonValue root() const;

 private:
  friend class JsonValue;
  std::size_t line_of(const std::vector<std::string>& place) const;

  std::string_view text_;
  std::string source_;
  std::unique_ptr<nlohmann::json> root_;
};

/// The whole file. Throws file_error.
std::string read_text_file(const std::string& path);
void write_text_file(const std::string& path, std::string_view text);

}  // namespace tandem::placer
