// Models that Keras wrote, to be damaged.
#pragma once
#include <string>
#include <vector>

#include "tandem/files/file_bytes.h"
#include "tandem/files/zip.h"

namespace tandem::fuzz {

/// The entries of small .keras files, the smallest first; samples.py knows the list as well.
inline std::vector<ZipEntries> model_samples() {
  std::vector<ZipEntries> samples;
  for (const char* name : {"tiny_cnn", "nested", "two_towers", "functions", "attention", "recurrent"})
    samples.push_back(
        zip_from_bytes(read_file(std::string(TANDEM_SOURCE_DIR "/tests/data/models/") + name + ".keras"), name));
  return samples;
}

inline std::string legacy_sample() { return read_file(TANDEM_SOURCE_DIR "/tests/data/models/tiny_cnn_legacy.h5"); }

}  // namespace tandem::fuzz
