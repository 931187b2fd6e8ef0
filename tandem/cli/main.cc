// The command line: tandem devices | ops | errors | faults | place | calibrate | explain | suggest.
#include <CLI/CLI.hpp>
#include <iostream>

#include "tandem/cli/commands.h"

namespace {

constexpr int kWrongUse = 2;

/// What the user did wrong, in one line.
std::string complaint(const CLI::App& app, const CLI::ParseError& error, int argc, char** argv) {
  const std::string first = argc > 1 ? argv[1] : "";
  std::string names;
  for (const CLI::App* command : app.get_subcommands({})) {
    if (command->get_name() == first) return first + ": " + error.what();
    names += (names.empty() ? "" : ", ") + command->get_name();
  }
  if (first.empty()) return "a command is missing; there are " + names;
  if (first.starts_with("-")) return "unknown option " + first;
  return "unknown command " + first + "; there are " + names;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("TandemFlow: what there is to compute with, and how.", "tandem");
  app.set_version_flag("--version", "tandem " TANDEM_VERSION, "Print the version");
  app.require_subcommand(1);
  tandem::cli::add_devices(app);
  tandem::cli::add_ops(app);
  tandem::cli::add_errors(app);
  tandem::cli::add_faults(app);
  tandem::cli::add_place(app);
  tandem::cli::add_calibrate(app);
  tandem::cli::add_explain(app);
  tandem::cli::add_suggest(app);

  try {
    app.parse(argc, argv);
    return 0;
  } catch (const CLI::Success& success) {  // --help and --version
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    std::cerr << "tandem: " << complaint(app, error, argc, argv) << "\nSee tandem --help.\n";
    return kWrongUse;
  } catch (const tandem::cli::ExitWith& exit) {
    return exit.code;
  } catch (const std::exception& error) {
    std::cerr << "tandem: " << error.what() << "\n";
    return 1;
  }
}
