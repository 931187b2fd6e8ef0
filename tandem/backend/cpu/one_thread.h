// Keeps the libraries on the calling thread.
#pragma once

// The OpenMP the libraries were built with. Declared here because its header comes with -fopenmp only.
extern "C" int omp_get_max_threads();
extern "C" void omp_set_num_threads(int threads);

namespace tandem::cpu {

/// While it lives, oneDNN and OpenBLAS work on the calling thread alone: slices are handed out by our pool. The
/// setting belongs to the thread, so others are not disturbed.
class OneThread {
 public:
  OneThread() : before_(omp_get_max_threads()) {
    if (before_ != 1) omp_set_num_threads(1);
  }
  ~OneThread() {
    if (before_ != 1) omp_set_num_threads(before_);
  }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;

 private:
  int before_;
};

}  // namespace tandem::cpu
