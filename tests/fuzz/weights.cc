// Weights of which some bytes were changed: in .keras files, in older files, and given to a model that is there; the
// first byte chooses. What was refused leaves the model as it was.
#include "tandem/files/hdf5.h"
#include "tandem/nn/model_file.h"
#include "tandem/nn/weights_file.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/model_samples.h"

namespace {

void give(tandem::Model& model, const std::string& file) {
  const std::string before = tandem::hdf5_to_bytes(tandem::weights_of(model.graph(), model.name()));
  try {
    tandem::give_weights(model.graph(), tandem::hdf5_from_bytes(file, "input"), "input");
  } catch (const tandem::Error&) {
    if (tandem::hdf5_to_bytes(tandem::weights_of(model.graph(), model.name())) != before) __builtin_trap();
    throw;
  }
}

}  // namespace

void tandem::fuzz::read(std::string_view bytes) {
  static const ZipEntries sample = model_samples().front();
  static const std::string legacy = legacy_sample();
  static const std::unique_ptr<Model> model = model_from_bytes(zip_to_bytes(sample));
  if (bytes.empty()) return;
  const auto choice = static_cast<unsigned char>(bytes[0]) % 3;
  const std::string file = damaged(choice == 1 ? legacy : sample.at("model.weights.h5"), bytes.substr(1));
  if (choice == 0) return give(*model, file);
  if (choice == 1) return void(model_from_bytes(file, "input"));
  ZipEntries entries = sample;
  entries["model.weights.h5"] = file;
  model_from_bytes(zip_to_bytes(entries), "input");
}
