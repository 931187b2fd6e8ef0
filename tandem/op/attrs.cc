#include "tandem/op/attrs.h"

#include "tandem/op/op_def.h"

namespace tandem {
namespace {

/// Finds which word of "same|valid" `choice` is; -1 when none.
std::int64_t choice_index(std::string_view choices, std::string_view choice) {
  std::int64_t index = 0;
  for (std::size_t begin = 0; begin <= choices.size(); ++index) {
    const std::size_t end = std::min(choices.find('|', begin), choices.size());
    if (choices.substr(begin, end - begin) == choice) return index;
    begin = end + 1;
  }
  return -1;
}

}  // namespace

std::string_view choice_at(std::string_view choices, std::int64_t index) {
  std::size_t begin = 0;
  for (; index > 0; --index) begin = choices.find('|', begin) + 1;
  return choices.substr(begin, choices.find('|', begin) - begin);
}

const AttrDef& AttrWriter::next(AttrKind kind) {
  TANDEM_CHECK(static_cast<int>(at_) < op_.attrs.size(), op_.name, " has only ", op_.attrs.size(), " attributes");
  const AttrDef& def = op_.attrs[static_cast<int>(at_++)];
  TANDEM_CHECK(def.kind == kind, "attribute ", def.name, " of ", op_.name, " has another kind");
  return def;
}

AttrWriter& AttrWriter::put(std::int64_t value) {
  attrs_.push(next(AttrKind::integer).at_run_time, value);
  return *this;
}
AttrWriter& AttrWriter::put(bool value) {
  attrs_.push(next(AttrKind::boolean).at_run_time, value);
  return *this;
}
AttrWriter& AttrWriter::put(double value) {
  attrs_.push(next(AttrKind::real).at_run_time, std::bit_cast<std::int64_t>(value));
  return *this;
}
AttrWriter& AttrWriter::put(DType value) {
  attrs_.push(next(AttrKind::dtype).at_run_time, static_cast<std::int64_t>(value));
  return *this;
}
AttrWriter& AttrWriter::put(std::span<const std::int64_t> values) {
  const bool at_run_time = next(AttrKind::ints).at_run_time;
  attrs_.push(at_run_time, static_cast<std::int64_t>(values.size()));
  for (std::int64_t value : values) attrs_.push(at_run_time, value);
  return *this;
}
AttrWriter& AttrWriter::put(std::string_view choice) {
  const AttrDef& def = next(AttrKind::choice);
  const std::int64_t index = choice_index(def.choices, choice);
  if (index < 0)
    fail(ErrorCode::invalid_argument, op_.name, ": ", def.name, " must be one of ", def.choices, ", got '", choice,
         "'");
  attrs_.push(def.at_run_time, index);
  return *this;
}

const Attrs& AttrWriter::done() const {
  TANDEM_CHECK(static_cast<int>(at_) == op_.attrs.size(), op_.name, ": ", at_, " of ", op_.attrs.size(),
               " attributes given");
  return attrs_;
}

std::span<const std::int64_t> AttrView::find(std::string_view name, AttrKind kind) const {
  std::size_t at[2] = {0, 0};  // next word among key and run-time words
  for (const AttrDef& def : op_.attrs) {
    const auto words = def.at_run_time ? attrs_.run_time() : attrs_.key();
    std::size_t& here = at[def.at_run_time];
    std::size_t count = 1;
    if (def.kind == AttrKind::ints) count = static_cast<std::size_t>(words[here++]);
    if (def.name == name) {
      TANDEM_CHECK(def.kind == kind, "attribute ", name, " of ", op_.name, " has another kind");
      return words.subspan(here, count);
    }
    here += count;
  }
  check_failed("attribute exists", __FILE__, __LINE__, text(op_.name, " has no attribute ", name));
}

namespace {

std::string value_text(const AttrDef& def, std::span<const std::int64_t> words) {
  switch (def.kind) {
    case AttrKind::real: return text(std::bit_cast<double>(words[0]));
    case AttrKind::boolean: return words[0] ? "true" : "false";
    case AttrKind::dtype: return text(static_cast<DType>(words[0]));
    case AttrKind::ints: return "[" + join(words) + "]";
    case AttrKind::choice: return std::string(choice_at(def.choices, words[0]));
    case AttrKind::integer: break;
  }
  return text(words[0]);
}

}  // namespace

std::string AttrView::to_string() const {
  std::string out;
  for (const AttrDef& def : op_.attrs)
    out += text(out.empty() ? "" : ", ", def.name, "=", value_text(def, find(def.name, def.kind)));
  return out;
}

std::string_view AttrView::choice(std::string_view name) const {
  for (const AttrDef& def : op_.attrs)
    if (def.name == name) return choice_at(def.choices, find(name, AttrKind::choice)[0]);
  check_failed("attribute exists", __FILE__, __LINE__, text(op_.name, " has no attribute ", name));
}

}  // namespace tandem
