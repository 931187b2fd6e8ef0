#include "tandem/base/cache_folder.h"

#include <cstdlib>
#include <string>

namespace tandem {

std::filesystem::path cache_folder(std::string_view part) {
  namespace fs = std::filesystem;
  const auto from = [](const char* variable) -> fs::path {
    const char* folder = std::getenv(variable);
    return folder ? folder : "";
  };
  if (const fs::path folder = from("TANDEM_CACHE_DIR"); !folder.empty()) return folder / part;
  if (const fs::path folder = from("XDG_CACHE_HOME"); !folder.empty()) return folder / "tandem" / part;
  if (const fs::path home = from("HOME"); !home.empty()) return home / ".cache/tandem" / part;
  return fs::temp_directory_path() / ("tandem-" + std::string(part));
}

}  // namespace tandem
