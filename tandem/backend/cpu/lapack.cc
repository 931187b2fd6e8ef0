#include "tandem/backend/cpu/lapack.h"

#include <cblas.h>

#include <algorithm>
#include <type_traits>
#include <vector>

#include "tandem/backend/cpu/one_thread.h"

// Debian's OpenBLAS has the routines but not their header. Hidden arguments (lengths of strings) come last.
extern "C" {
void spotrf_(const char* uplo, const int* n, float* a, const int* lda, int* info, std::size_t);
void dpotrf_(const char* uplo, const int* n, double* a, const int* lda, int* info, std::size_t);
void sgetrf_(const int* m, const int* n, float* a, const int* lda, int* pivots, int* info);
void dgetrf_(const int* m, const int* n, double* a, const int* lda, int* pivots, int* info);
void sgeqrf_(const int* m, const int* n, float* a, const int* lda, float* tau, float* work, const int* lwork,
             int* info);
void dgeqrf_(const int* m, const int* n, double* a, const int* lda, double* tau, double* work, const int* lwork,
             int* info);
void sorgqr_(const int* m, const int* n, const int* k, float* a, const int* lda, const float* tau, float* work,
             const int* lwork, int* info);
void dorgqr_(const int* m, const int* n, const int* k, double* a, const int* lda, const double* tau, double* work,
             const int* lwork, int* info);
void sgesdd_(const char* job, const int* m, const int* n, float* a, const int* lda, float* s, float* u, const int* ldu,
             float* vt, const int* ldvt, float* work, const int* lwork, int* iwork, int* info, std::size_t);
void dgesdd_(const char* job, const int* m, const int* n, double* a, const int* lda, double* s, double* u,
             const int* ldu, double* vt, const int* ldvt, double* work, const int* lwork, int* iwork, int* info,
             std::size_t);
void ssyevd_(const char* job, const char* uplo, const int* n, float* a, const int* lda, float* w, float* work,
             const int* lwork, int* iwork, const int* liwork, int* info, std::size_t, std::size_t);
void dsyevd_(const char* job, const char* uplo, const int* n, double* a, const int* lda, double* w, double* work,
             const int* lwork, int* iwork, const int* liwork, int* info, std::size_t, std::size_t);
}

namespace tandem::cpu::lapack {
namespace {

/// Asks the routine how much it needs, then calls it: call(work, length).
template <class T, class F>
void with_work(F call) {
  thread_local std::vector<T> work;
  T wanted = 0;
  call(&wanted, -1);
  const int length = std::max(1, static_cast<int>(wanted));
  if (work.size() < static_cast<std::size_t>(length)) work.resize(static_cast<std::size_t>(length));
  call(work.data(), length);
}

std::vector<int>& integers(std::size_t count) {
  thread_local std::vector<int> list;
  if (list.size() < count) list.resize(count);
  return list;
}

template <class T>
int geqrf_of(int m, int n, T* a, T* tau) {
  const OneThread guard;
  int info = 0;
  const int lda = std::max(m, 1);
  with_work<T>([&](T* work, int length) {
    if constexpr (std::is_same_v<T, float>) sgeqrf_(&m, &n, a, &lda, tau, work, &length, &info);
    else dgeqrf_(&m, &n, a, &lda, tau, work, &length, &info);
  });
  return info;
}

template <class T>
int orgqr_of(int m, int columns, int count, T* a, const T* tau) {
  const OneThread guard;
  int info = 0;
  const int lda = std::max(m, 1);
  with_work<T>([&](T* work, int length) {
    if constexpr (std::is_same_v<T, float>) sorgqr_(&m, &columns, &count, a, &lda, tau, work, &length, &info);
    else dorgqr_(&m, &columns, &count, a, &lda, tau, work, &length, &info);
  });
  return info;
}

template <class T>
int gesdd_of(bool full, int m, int n, T* a, T* s, T* u, T* vt) {
  const OneThread guard;
  const char job = full ? 'A' : 'S';
  const int k = std::min(m, n), ldvt = std::max(full ? n : k, 1), lda = std::max(m, 1);
  int* iwork = integers(static_cast<std::size_t>(8 * k) + 1).data();
  int info = 0;
  with_work<T>([&](T* work, int length) {
    if constexpr (std::is_same_v<T, float>)
      sgesdd_(&job, &m, &n, a, &lda, s, u, &lda, vt, &ldvt, work, &length, iwork, &info, 1);
    else dgesdd_(&job, &m, &n, a, &lda, s, u, &lda, vt, &ldvt, work, &length, iwork, &info, 1);
  });
  return info;
}

template <class T>
int syevd_of(int n, T* a, T* w) {
  const OneThread guard;
  const char job = 'V', uplo = 'U';
  const int lda = std::max(n, 1), count = 3 + 5 * n;
  int* iwork = integers(static_cast<std::size_t>(count)).data();
  int info = 0;
  with_work<T>([&](T* work, int length) {
    if constexpr (std::is_same_v<T, float>)
      ssyevd_(&job, &uplo, &n, a, &lda, w, work, &length, iwork, &count, &info, 1, 1);
    else dsyevd_(&job, &uplo, &n, a, &lda, w, work, &length, iwork, &count, &info, 1, 1);
  });
  return info;
}

}  // namespace

int potrf_upper(int n, float* a, int lda) {
  const OneThread guard;
  int info = 0;
  spotrf_("U", &n, a, &lda, &info, 1);
  return info;
}
int potrf_upper(int n, double* a, int lda) {
  const OneThread guard;
  int info = 0;
  dpotrf_("U", &n, a, &lda, &info, 1);
  return info;
}

int getrf(int m, int n, float* a, int lda, int* pivots) {
  const OneThread guard;
  int info = 0;
  sgetrf_(&m, &n, a, &lda, pivots, &info);
  return info;
}
int getrf(int m, int n, double* a, int lda, int* pivots) {
  const OneThread guard;
  int info = 0;
  dgetrf_(&m, &n, a, &lda, pivots, &info);
  return info;
}

int geqrf(int m, int n, float* a, float* tau) { return geqrf_of(m, n, a, tau); }
int geqrf(int m, int n, double* a, double* tau) { return geqrf_of(m, n, a, tau); }
int orgqr(int m, int columns, int count, float* a, const float* tau) { return orgqr_of(m, columns, count, a, tau); }
int orgqr(int m, int columns, int count, double* a, const double* tau) { return orgqr_of(m, columns, count, a, tau); }
int gesdd(bool full, int m, int n, float* a, float* s, float* u, float* vt) {
  return gesdd_of(full, m, n, a, s, u, vt);
}
int gesdd(bool full, int m, int n, double* a, double* s, double* u, double* vt) {
  return gesdd_of(full, m, n, a, s, u, vt);
}
int syevd_upper(int n, float* a, float* w) { return syevd_of(n, a, w); }
int syevd_upper(int n, double* a, double* w) { return syevd_of(n, a, w); }

namespace {

CBLAS_UPLO half(Triangle triangle) { return triangle.lower ? CblasLower : CblasUpper; }
CBLAS_TRANSPOSE turned(bool transpose) { return transpose ? CblasTrans : CblasNoTrans; }
CBLAS_DIAG diagonal(Triangle triangle) { return triangle.unit ? CblasUnit : CblasNonUnit; }

}  // namespace

void solve_left(Triangle t, int n, int columns, const float* a, int lda, float* b, int ldb) {
  const OneThread guard;
  cblas_strsm(CblasRowMajor, CblasLeft, half(t), turned(t.transpose), diagonal(t), n, columns, 1, a, lda, b, ldb);
}
void solve_left(Triangle t, int n, int columns, const double* a, int lda, double* b, int ldb) {
  const OneThread guard;
  cblas_dtrsm(CblasRowMajor, CblasLeft, half(t), turned(t.transpose), diagonal(t), n, columns, 1, a, lda, b, ldb);
}
void solve_right(Triangle t, int rows, int n, const float* a, int lda, float* b, int ldb) {
  const OneThread guard;
  cblas_strsm(CblasRowMajor, CblasRight, half(t), turned(t.transpose), diagonal(t), rows, n, 1, a, lda, b, ldb);
}
void solve_right(Triangle t, int rows, int n, const double* a, int lda, double* b, int ldb) {
  const OneThread guard;
  cblas_dtrsm(CblasRowMajor, CblasRight, half(t), turned(t.transpose), diagonal(t), rows, n, 1, a, lda, b, ldb);
}

}  // namespace tandem::cpu::lapack
