// The commands of `tandem`, one file each: a command adds itself to the parser, with what runs when it is chosen.
#pragma once

namespace CLI {
class App;
}

namespace tandem::cli {

void add_devices(CLI::App& app);  // tandem devices [--json]
void add_ops(CLI::App& app);      // tandem ops [--json | --markdown] [NAME]
void add_errors(CLI::App& app);   // tandem errors [CODE]
void add_place(CLI::App& app);    // tandem place --graph G.json --machine M.json [--json | --dot]
void add_calibrate(CLI::App& app);  // tandem calibrate [--check | --quick] [--json] [--force] [-o FILE]
void add_faults(CLI::App& app);   // tandem faults [--json]
void add_explain(
    CLI::App& app);  // tandem explain FILE [--machine M.json] [--lock L.json | --check L.json] [--json | --dot]
void add_suggest(CLI::App& app);  // tandem suggest FILE [--machine M.json] [--apply L.json] [--json]

/// Thrown by a command that has said all there is to say and ends the program with this code.
struct ExitWith {
  int code;
};

}  // namespace tandem::cli
