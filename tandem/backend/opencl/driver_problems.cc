// What keeps a driver from working: seen from outside, because a driver that does not load cannot say it.
#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>

#include "tandem/backend/opencl/discovery.h"
#include "tandem/base/environment.h"
#include "tandem/base/text.h"

namespace tandem::opencl {
namespace {

namespace fs = std::filesystem;

const fs::path kVendors = "/etc/OpenCL/vendors";

/// A file may hold anything; a message is one line of text.
std::string printable(std::string_view bytes) {
  constexpr std::size_t kMost = 200;
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const char c : bytes.substr(0, kMost)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= ' ' && byte < 0x7f) out += c;
    else out += {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
  }
  return bytes.size() > kMost ? out + "…" : out;
}

std::vector<fs::path> listed(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code problem;
  for (const auto& entry : fs::directory_iterator(folder, problem)) found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

fs::path driver_folder(const SystemPaths& paths) {
  if (!paths.drivers.empty()) return paths.drivers;
  for (const char* variable : {"OCL_ICD_VENDORS", "OPENCL_VENDOR_PATH"})
    if (const auto value = environment(variable); value && !value->empty()) return *value;
  return kVendors;
}

std::vector<fs::path> driver_files(const fs::path& place) {
  if (place.extension() == ".icd")
    return {place.has_parent_path() ? place : kVendors / place};  // as the loader reads it
  std::vector<fs::path> files = listed(place);
  std::erase_if(files, [](const fs::path& path) { return path.extension() != ".icd"; });
  return files;
}

/// Why the library named in a driver file is of no use; empty when it is one.
std::string load_problem(const fs::path& file) {
  std::string library;
  std::ifstream in(file);
  if (!std::getline(in, library)) return "it cannot be read or names no library";
  // The loader has tried it before us: one that works is open already.
  void* const loaded = dlopen(library.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (!loaded) {
    const char* why = dlerror();
    return text("its library does not load: ", printable(why ? why : library));
  }
  const bool driver = dlsym(loaded, "clGetExtensionFunctionAddress") || dlsym(loaded, "clIcdGetPlatformIDsKHR");
  dlclose(loaded);
  return driver ? "" : text("its library is no OpenCL driver: ", printable(library));
}

std::string maker_of(const fs::path& card) {
  std::ifstream file(card / "device" / "vendor");
  std::string number;
  file >> number;
  if (number == "0x1002") return "AMD";
  if (number == "0x10de") return "NVIDIA";
  if (number == "0x8086") return "Intel";
  return number;
}

std::string package_for(const std::string& maker) {
  if (maker == "AMD") return "rocm-opencl-icd or mesa-opencl-icd";
  if (maker == "NVIDIA") return "nvidia-opencl-icd";
  if (maker == "Intel") return "intel-opencl-icd";
  return "the OpenCL driver of its maker";
}

bool is_render_node(const fs::path& path) { return path.filename().string().starts_with("renderD"); }

}  // namespace

std::vector<Problem> driver_problems(const SystemPaths& paths, Offered offered) {
  std::vector<Problem> problems;
  const fs::path place = driver_folder(paths);
  const auto files = driver_files(place);
  if (files.empty() && !offered.platform)  // the loader finds drivers in other ways, too
    problems.push_back({place, "no OpenCL driver is registered there",
                        "install the driver of your GPU, or pocl-opencl-icd to try without one"});
  for (const fs::path& file : files)
    if (std::string why = load_problem(file); !why.empty())
      problems.push_back({file, why, "install the package that holds the library, or remove this file"});
  if (problems.empty() && !offered.platform)
    problems.push_back(
        {place, "the drivers registered there load, but offer no platform", "install them anew, or another driver"});
  for (const fs::path& node : listed(paths.nodes))
    if (is_render_node(node) && access(node.c_str(), R_OK | W_OK) != 0 && errno == EACCES)
      problems.push_back(
          {node, "this user may not open the card",
           "add the user to the group that owns it (usually: usermod -aG render USER) and log in again"});
  if (offered.gpu) return problems;
  for (const fs::path& card : listed(paths.cards))
    if (const std::string maker = maker_of(card); is_render_node(card) && !maker.empty())
      problems.push_back({card, text("a card made by ", maker, " is here, but no OpenCL driver offers it"),
                          text("install ", package_for(maker))});
  return problems;
}

}  // namespace tandem::opencl
