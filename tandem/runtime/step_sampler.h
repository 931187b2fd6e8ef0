// Which steps of a function are timed: all of them while plans are compared, few while nothing changes, and all again
// as soon as one takes another time than usual. Reads no clock: times are given.
#pragma once

namespace tandem {

class StepSampler {
 public:
  /// A step begins.
  void begin(double now_s);
  /// Should the step that has just begun be timed? Yes counts as done. `comparing`: every step tells something.
  bool take(double now_s, bool comparing);

 private:
  double began_s_ = 0;    // when the last step began; 0: there was none
  double usual_s_ = 0;    // from one begin to the next; 0: not known
  double next_s_ = 0;     // no step is timed before
  int untimed_ = 0;       // steps since one was timed
  int attentive_ = 0;     // so many of the next ones are timed, because one was not as usual
};

}  // namespace tandem
