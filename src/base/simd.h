// Hot kernels are compiled twice, for x86-64-v3 and for x86-64-v4 (AVX-512), and the CPU chooses when the program
// starts. They are plain loops over restrict arrays that the compiler vectorises. Contraction is off, so both give the
// same bits.
//
//   AEGIR_HOT void scale(float* __restrict y, const float* __restrict x, std::size_t n, float a) { … }
#pragma once

#if defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && \
    defined(__x86_64__)
#define AEGIR_HOT __attribute__((target_clones("arch=x86-64-v4", "default")))
#else
#define AEGIR_HOT
#endif
