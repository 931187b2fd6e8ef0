// How batches are divided among devices: by their measured speed, then by how long steps take; and why.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tandem {

/// Rows for each replica, their sum `rows`: by speed, so that the last finishes as early as it can.
std::vector<std::int64_t> shard_sizes(std::int64_t rows, std::span<const double> speeds);

/// The devices of a group, their speeds as last measured (rows a second), and why shards are as they are. Any thread
/// may ask, and tell that a device has left.
class Shards {
 public:
  static constexpr double kChange =
      0.15;  // shares move only when one has changed by more: every new division is traced anew

  explicit Shards(std::vector<std::string> devices);

  std::vector<std::string> devices() const { return now().devices; }
  std::vector<double> speeds() const { return now().speeds; }
  std::string reason() const { return now().reason; }
  /// Whether somebody has set them by hand.
  bool fixed() const { return now().fixed; }
  std::vector<std::int64_t> sizes(std::int64_t rows) const { return shard_sizes(rows, speeds()); }

  struct State {
    std::vector<std::string> devices;
    std::vector<double> speeds;  // one a device
    std::string reason = "equal shards: nothing has been measured yet";
    bool fixed = false;
  };
  State now() const;

  /// Takes new speeds; says whether the shards change.
  bool take_measured(std::vector<double> speeds);
  /// Seconds a step as timed on the fastest device alone; 0: nobody has.
  void note_alone(double seconds) { alone_.store(seconds, std::memory_order_relaxed); }
  double alone() const { return alone_.load(std::memory_order_relaxed); }
  /// What was found for devices of which one has left since is not taken.
  void set(std::vector<double> speeds, std::string reason);
  /// By hand. Throws when they are not one a device, or none is above 0.
  void fix(std::vector<double> speeds);
  /// Without one device from now on.
  void leave(std::size_t replica, std::string_view why);

  /// "/CPU:0 25 %, /GPU:0 75 %"
  std::string shares(std::span<const double> speeds) const;
  /// The same text for the same division: what was traced for it holds for it.
  std::string key() const;

 private:
  mutable std::mutex mutex_;
  State state_;
  std::atomic<double> alone_{0};
};

/// Finds the shards with which steps are fastest, while training goes on: results do not depend on the division.
///
/// Speeds measured alone do not know what replicas wait for one another; so each device in turn is tried with more and
/// with less, at first much, then little, and what makes steps faster is kept. A device that had a share of a step is
/// at least as fast as that: dividing by the best that each has shown is tried, too, for it does not need two close
/// times to be told apart. A division that seems faster is kept only when the best so far, tried once more, is still
/// slower: something else may have had the machine while that was timed. For the same reason it looks again at what is
/// near after a while, ever more seldom. When steps become much slower later, it begins anew.
class Tuner {
 public:
  static constexpr double kStretch = 0.03;  // seconds of steps that are judged together
  static constexpr int kPatience = 20;  // stretches that must be slow before the search begins anew

  explicit Tuner(std::shared_ptr<Shards> shards, double stretch = kStretch);

  /// Takes how long some steps were; true when the shards are other ones from now on.
  bool note(std::int64_t steps, double seconds);
  bool settled() const { return best_.has_value() && to_try_.empty() && !rival_; }
  /// Seconds a step with the best shards so far; below 0 before the first judgement.
  double best_seconds() const { return best_ ? best_->first : -1; }

  /// How long a step takes on the fastest device alone.
  void set_single(double seconds, std::string device) { single_ = {seconds, std::move(device)}; }
  /// One line, once, when the search has settled and all devices together are slower than that one; else empty.
  std::string slower_together();

 private:
  using Trial = std::pair<std::size_t, double>;  // a device, and the factor for its share
  static constexpr Trial kBalanced{0, 0};  // each has what it has shown to be good for

  void begin(std::string cause);
  bool note_stretch(double seconds_a_step);
  bool watch(double seconds_a_step);
  bool look_again();
  bool judge(double seconds_a_step);
  /// Is what is being tried faster than the best? Empty: not known before that has been timed again.
  std::optional<bool> is_faster(double seconds_a_step);
  void note_shown(double seconds_a_step);
  bool balance_is_new() const;
  void begin_round();
  bool use(std::vector<double> speeds);
  bool try_next();

  std::shared_ptr<Shards> shards_;
  double stretch_;
  std::int64_t steps_ = 0;  // since the last judgement
  double seconds_ = 0;
  std::string cause_;  // of a search that was begun anew
  using Timed = std::pair<double, std::vector<double>>;  // seconds a step, speeds
  std::optional<Timed> best_;
  std::optional<Timed> rival_;  // seems faster; the best is being timed again
  std::vector<double> factors_;
  std::vector<Trial> to_try_;  // the first one is being tried; a success is tried again before going on
  std::vector<double> shown_;  // by device: the greatest part of a batch that it has done a second
  bool warm_ = false;
  std::vector<double> seen_;
  int slow_ = 0;
  int quiet_ = 0, pause_ = 0;  // stretches since the search settled; until it looks again
  double quiet_seconds_ = 0;
  double cost_ = 0;  // seconds that the last search took beside its steps at their best
  std::optional<std::pair<double, std::string>> single_;
};

}  // namespace tandem
