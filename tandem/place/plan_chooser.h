// Which of several plans of one graph runs next: first as predicted, then as measured, with hysteresis. Reads no clock
// and touches no hardware: times are given, in seconds of any clock.
#pragma once
#include <cstdint>
#include <deque>
#include <random>
#include <vector>

namespace tandem {

/// What a step takes: in all, and how long each device is at work for it.
struct StepCost {
  double us = 0;
  std::vector<double> busy_us = {};  // by device
};

class PlanChooser {
 public:
  struct Tuning {
    std::size_t least_samples = 8;  // before a plan is judged; more, up to `most_samples`, while they last less than
    std::size_t most_samples = 24;
    double judged_us = 150e3;  // this together
    std::size_t long_samples = 3;  // suffice in a trial if they last twice as long together
    double gain = 0.08;  // another plan must be so much better
    double plain = 1.3;  // so many times the other plan's time needs no second thought; less must last for
    double doubt_s = 3;  // this: a machine's speed changes by itself, and another plan was measured at another time
    double sharing = 0.05;  // so much must a plan on several devices gain over those on one: each of them may be late
    double slowed = 1.15;  // a device that takes so many times what it took is slowed by others
    double worth_trying = 1.6;  // a plan predicted at more than so many times the best is never tried
    int rounds = 8;  // so often are plans tried in turn that are close: what they differ by is less than a machine's
                     // speed changes from one tenth of a second to the next
    int long_rounds = 2;  // where steps are longer than
    double long_us = 50e3;  // this: they even out what others do by themselves
    double close = 0.4;  // at most so much above the best; half as much in each further round, and at last
    double closest = 0.06;  // this
    int moves_a_minute = 2;
    double forget_s = 60;  // what is known of a device out of use holds so long
    double retry_s = 60;  // a plan that disappointed is left alone so long, then twice as long
    double recheck_s = 90;  // a plan is measured again after so long, then twice as long
    int patience = 2;  // up to so many more samples before a move, at random: two programs must not move at once
  };
  /// Why the running plan runs.
  enum class Why { predicted, trial, measured, contention };

  PlanChooser(std::size_t devices, const Tuning& tuning, std::uint32_t seed);
  explicit PlanChooser(std::size_t devices) : PlanChooser(devices, {}, 1) {}

  /// The first that is added runs first; one that is added while others are being tried is tried too. Returns its
  /// number.
  std::size_t add(const StepCost& predicted);

  std::size_t running() const { return running_; }
  Why why() const { return why_; }
  /// A step of `plan` took so long. True: another plan runs from now on.
  bool note(std::size_t plan, const StepCost& measured, double now_s);
  /// A device that the running plan leaves idle was seen to take `factor` times what it takes when free.
  void note_probe(std::size_t device, double factor, double now_s);
  /// Would a probe of the device tell something?
  bool wants_probe(std::size_t device) const;

  /// Plans were compared while others had the cores, and these have gone: what was found is measured again.
  void doubt();

  /// Measured / expected, of the device: above 1 when others use it too, below when it has become faster.
  double contention(std::size_t device) const { return factor_[device].value; }
  /// What a step of a plan should take now, by all that is known.
  double expected_us(std::size_t plan) const;
  /// Moves so far, trials apart.
  int moves() const { return moves_; }
  /// False while plans have still to be tried, are being tried, or one has just been taken.
  bool settled() const { return tried_ && mode_ == Mode::settled; }

 private:
  struct Plan {
    StepCost predicted;
    StepCost quiet;  // with its devices free, as measured
    std::vector<StepCost> rounds;  // what it took when it was tried
    bool measured = false, doubtful = false;
    double measured_at = 0, blocked_until = 0, retry_s = 0, recheck_s = 0;
  };
  struct Factor {
    double value = 1, since = 0;
  };
  enum class Mode { settled, trial, verifying };

  bool enough() const;
  StepCost typical() const;
  void learn(Plan& plan, const StepCost& now, double now_s);
  void forget(double now_s);
  void switch_to(std::size_t plan, Mode mode, Why why);
  void learn_in_trial(Plan& plan, const StepCost& now);
  bool begin_trials();
  bool next_trial();
  bool next_round();
  bool settle();
  double judged_us(std::size_t plan) const;
  void verify(const StepCost& now, double now_s);
  bool consider(const StepCost& now, double now_s);
  bool recheck(const StepCost& now, double now_s);
  bool may_move(double now_s);
  int draw_patience();
  bool uses(const StepCost& cost, std::size_t device) const;

  Tuning tuning_;
  std::vector<Plan> plans_;
  std::vector<Factor> factor_;  // by device
  std::deque<StepCost> recent_;  // of the running plan
  std::vector<std::size_t> to_try_;  // in this round; the last is next
  int round_ = 0;
  std::size_t running_ = 0, home_ = 0;  // home_: what runs if no trial is better
  Mode mode_ = Mode::settled;
  Why why_ = Why::predicted, home_why_ = Why::predicted;
  int skip_ = 1;  // the first step of a plan also moves the data
  bool tried_ = false;
  double left_us_ = 0;  // what the plan left behind took
  int patience_ = 0, waited_ = 0;
  double wanted_s_ = 0;  // since when another plan has been expected to be better
  int moves_ = 0;
  std::deque<double> moved_at_;
  std::minstd_rand random_;
};

}  // namespace tandem
