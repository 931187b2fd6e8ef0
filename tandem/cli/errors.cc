// tandem errors: the error codes and what they mean.
#include <CLI/CLI.hpp>
#include <iostream>

#include "tandem/base/error.h"
#include "tandem/cli/commands.h"
#include "tandem/cli/table.h"

namespace tandem::cli {
namespace {

/// "E0102", "e0102", "102" and "shape_mismatch" all name the same code.
const ErrorInfo* find_error(std::string word) {
  for (const ErrorInfo& info : error_list())
    if (info.name == word) return &info;
  if (!word.empty() && (word[0] == 'E' || word[0] == 'e')) word.erase(0, 1);
  word.erase(0, std::min(word.find_first_not_of('0'), word.size()));
  for (const ErrorInfo& info : error_list())
    if (std::to_string(static_cast<int>(info.code)) == word) return &info;
  return nullptr;
}

void print_errors(const std::string& code) {
  if (!code.empty()) {
    const ErrorInfo* info = find_error(code);
    if (!info) throw CLI::ValidationError("there is no error code " + code);
    const std::string id = error_id(info->code);
    std::cout << id << " " << info->name << "\n" << info->title << "\nMore: docs/errors/" << id << ".md\n";
    return;
  }
  Table table({{"code"}, {"name"}, {"meaning", 70}});
  for (const ErrorInfo& info : error_list())
    table.add({error_id(info.code), std::string(info.name), std::string(info.title)});
  table.print(std::cout);
}

}  // namespace

void add_errors(CLI::App& app) {
  CLI::App* command = app.add_subcommand("errors", "List the error codes, or say what one means");
  auto code = std::make_shared<std::string>();
  command->add_option("CODE", *code, "A code (E0102) or its name (shape_mismatch)");
  command->callback([code] { print_errors(*code); });
}

}  // namespace tandem::cli
