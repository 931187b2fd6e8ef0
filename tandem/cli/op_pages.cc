#include "tandem/cli/op_pages.h"

#include <ostream>

#include "tandem/base/text.h"
#include "tandem/op/op_def.h"

namespace tandem::cli {
namespace {

/// "matmul(a, b, transpose_a=False, transpose_b=False)", as it is called from Python.
std::string signature(const OpDef& op) {
  std::vector<std::string> words;
  for (std::string_view input : op.inputs) words.emplace_back(input);
  for (const AttrDef& attr : op.attrs)
    words.push_back(attr.default_value.empty() ? std::string(attr.name) : text(attr.name, "=", attr.default_value));
  return text(op.name, "(", join(words), ")");
}

}  // namespace

void write_op_pages(std::ostream& out) {
  out << "# Ops\n\nWritten from the records by `tandem ops --markdown`; do not edit.\n\n"
      << "| op | what it does | dtypes | gradient |\n|---|---|---|---|\n";
  for (const OpDef* op : op_list())
    out << "| `" << signature(*op) << "` | " << op->doc << " | " << op->dtypes.to_string() << " | "
        << (op->grad ? "yes" : "no") << " |\n";
}

}  // namespace tandem::cli
