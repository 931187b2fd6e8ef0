// What ops by themselves were measured to take, on its way into the machine's history.
#pragma once
#include <memory>
#include <mutex>
#include <optional>

#include "tandem/exec/eager_timer.h"
#include "tandem/place/machine.h"

namespace tandem {

class Runtime;

class EagerLearning final : public EagerTimer {
 public:
  explicit EagerLearning(Runtime& runtime) : runtime_(runtime) {}
  void host_ran(const PreparedCall& call, double us) override;
  bool start(const PreparedCall& call) override;
  void ended(const PreparedCall& call, bool given) override;

 private:
  /// An op as the history knows it, and what the machine's figures alone predict.
  struct Known {
    HistoryKey key;
    double predicted_us = 0, launch_us = 0;
    std::shared_ptr<const Machine> machine = {};
  };
  /// A device's own timing that has not been fetched yet.
  struct Pending {
    Device* device;
    std::uint64_t number;
    const Decision* decision;
    Known known;
  };
  std::optional<Known> known(const PreparedCall& call) const;
  void learn(const Known& known, double us);
  void fetch();

  Runtime& runtime_;
  std::mutex mutex_;
  std::optional<Pending> pending_;
};

}  // namespace tandem
