// The replicas of one run: each on a thread of its own, one at a time, until it comes to a meeting or to its end.
#pragma once
#include <exception>
#include <functional>
#include <optional>
#include <semaphore>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "tandem/autodiff/thread_context.h"
#include "tandem/dist/replica.h"

namespace tandem {

/// Gets what each replica brings to a meeting and gives what each takes away; runs on the thread that has begun the
/// run.
using Merge = std::function<PerReplica(const PerReplica&)>;

class ReplicaThread {
 public:
  explicit ReplicaThread(std::function<void()> body) : body_(std::move(body)) {}
  ~ReplicaThread() { stop(); }
  ReplicaThread(const ReplicaThread&) = delete;
  ReplicaThread& operator=(const ReplicaThread&) = delete;

  /// For the replica: waits until all have come. Throws on other threads and when the run has ended.
  Tensors meet(std::string what, Tensors brings, Merge merge);

 private:
  friend void run_together(std::span<const std::shared_ptr<ReplicaThread>> replicas);
  struct Meeting {
    std::string what;
    Tensors brings;
    Merge merge;
  };
  struct Stopped {};  // thrown in a replica when another one has failed

  /// Runs it until the next meeting or the end.
  void advance();
  /// Ends it where it waits.
  void stop();
  void work();
  static void merge(std::span<const std::shared_ptr<ReplicaThread>> replicas);

  std::function<void()> body_;
  ThreadContext context_;
  std::thread::id id_;
  std::binary_semaphore go_{0}, back_{0};
  std::optional<Meeting> met_;
  Tensors answer_;
  std::exception_ptr error_;
  bool begun_ = false, ended_ = false, stopped_ = false;
};

/// Runs the bodies; they meet where their programs say so.
void run_together(std::span<const std::shared_ptr<ReplicaThread>> replicas);

}  // namespace tandem
