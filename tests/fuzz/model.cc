// Descriptions of models in .keras files beside weights that are right; the first byte chooses whose.
#include "tandem/nn/model_file.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/model_samples.h"

void tandem::fuzz::read(std::string_view bytes) {
  static const std::vector<ZipEntries> samples = model_samples();
  if (bytes.empty()) return;
  ZipEntries entries = samples[static_cast<unsigned char>(bytes[0]) % samples.size()];
  entries["config.json"] = bytes.substr(1);
  model_from_bytes(zip_to_bytes(entries), "input");
}
