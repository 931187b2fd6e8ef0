#include "bench/child.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench/harness.h"

namespace tandem::bench {
namespace {

std::string own_folder() {
  char self[4096] = {};
  if (readlink("/proc/self/exe", self, sizeof self - 1) < 0) return ".";
  return std::string(self).substr(0, std::string(self).rfind('/'));
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> all;
  for (std::string& word : words) all.push_back(word.data());
  all.push_back(nullptr);
  return all;
}

}  // namespace

std::optional<Child> run_child(const std::string& program, std::vector<std::string> arguments,
                               std::vector<std::string> environment) {
  const std::string path = own_folder() + "/" + program;
  arguments.insert(arguments.begin(), path);
  for (char** entry = environ; *entry; ++entry) environment.emplace_back(*entry);
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return {};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  const double begin = now();
  pid_t child = 0;
  const int failed =
      posix_spawn(&child, path.c_str(), &actions, nullptr, pointers(arguments).data(), pointers(environment).data());
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  Child result;
  char part[4096];
  for (ssize_t size; !failed && (size = read(ends[0], part, sizeof part)) > 0;)
    result.output.append(part, static_cast<std::size_t>(size));
  close(ends[0]);
  int status = 0;
  rusage usage{};
  if (failed || wait4(child, &status, 0, &usage) < 0 || status != 0) return {};
  result.seconds = now() - begin;
  result.megabytes = static_cast<double>(usage.ru_maxrss) / 1024;
  return result;
}

}  // namespace tandem::bench
