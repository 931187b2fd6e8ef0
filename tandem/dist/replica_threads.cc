#include "tandem/dist/replica_threads.h"

#include <algorithm>
#include <mutex>

#include "tandem/base/error.h"
#include "tandem/base/threads.h"

namespace tandem {
namespace {

/// Threads that live as long as the process and are lent to replicas: what a thread keeps for its ops stays warm.
class Lender {
 public:
  void run(std::function<void()> job) {
    Worker* worker = nullptr;
    {
      const std::lock_guard lock(mutex_);
      if (idle_.empty()) idle_.push_back(start());
      worker = idle_.back();
      idle_.pop_back();
    }
    worker->job = std::move(job);
    worker->go.release();
  }

 private:
  struct Worker {
    std::binary_semaphore go{0};
    std::function<void()> job;
    std::thread thread;
  };

  Worker* start() {
    auto* worker = new Worker;  // never deleted: it waits for work while the process ends
    worker->thread = start_thread(ThreadRole::compute, text("replica", count_++), [this, worker] {
      for (;;) {
        worker->go.acquire();
        std::exchange(worker->job, nullptr)();
        const std::lock_guard lock(mutex_);
        idle_.push_back(worker);
      }
    });
    return worker;
  }

  std::mutex mutex_;
  std::vector<Worker*> idle_;
  int count_ = 0;
};

Lender& lender() {
  static auto& threads = *new Lender;
  return threads;
}

}  // namespace

Tensors ReplicaThread::meet(std::string what, Tensors brings, Merge merge) {
  if (ended_ || std::this_thread::get_id() != id_)
    fail(ErrorCode::invalid_argument, what,
         ": the replica has ended, or this is not its thread; a gradient through it is taken inside the replica");
  met_ = Meeting{std::move(what), std::move(brings), std::move(merge)};
  back_.release();
  go_.acquire();
  if (stopped_) throw Stopped();
  return std::move(answer_);
}

void ReplicaThread::advance() {
  if (std::exchange(begun_, true)) {
    go_.release();
  } else {
    context_ = ThreadContext::current();
    lender().run([this] { work(); });
  }
  back_.acquire();
}

void ReplicaThread::work() {
  id_ = std::this_thread::get_id();
  const ThreadContext before = context_.exchange();
  try {
    body_();
  } catch (const Stopped&) {
    // Another replica has failed and is heard.
  } catch (...) {
    error_ = std::current_exception();
  }
  before.exchange();
  ended_ = true;
  back_.release();
}

void ReplicaThread::stop() {
  if (!begun_ || ended_) return;
  stopped_ = true;
  go_.release();
  back_.acquire();
}

void ReplicaThread::merge(std::span<const std::shared_ptr<ReplicaThread>> replicas) {
  const auto place = [](const ReplicaThread& replica) { return replica.met_ ? replica.met_->what : "the end"; };
  const std::string first = place(*replicas[0]);
  for (const auto& replica : replicas)
    if (place(*replica) != first)
      fail(ErrorCode::invalid_argument, "some replicas made other calls than the others; one is at ", first,
           ", another at ", place(*replica), ". A call such as all_reduce cannot depend on the replica");
  if (!replicas[0]->met_) return;
  PerReplica brought;
  for (const auto& replica : replicas) brought.push_back(std::move(replica->met_->brings));
  PerReplica answers = replicas[0]->met_->merge(brought);
  for (std::size_t i = 0; i < replicas.size(); ++i) {
    replicas[i]->answer_ = std::move(answers.at(i));
    replicas[i]->met_.reset();
  }
}

void run_together(std::span<const std::shared_ptr<ReplicaThread>> replicas) {
  struct StopAll {
    std::span<const std::shared_ptr<ReplicaThread>> replicas;
    ~StopAll() {
      for (const auto& replica : replicas) replica->stop();
    }
  } const stop_all{replicas};
  while (!replicas[0]->ended_) {
    for (const auto& replica : replicas) {
      if (!replica->ended_) replica->advance();
      if (replica->error_) std::rethrow_exception(replica->error_);
    }
    ReplicaThread::merge(replicas);
  }
}

}  // namespace tandem
