// Makes CUDA C compile as C++. It is included before a program and once more after it.
//
// It includes no headers of C++'s standard library, which would take longer to compile than the rest of a
// program.
//
// The threads of a group run in turns: each runs until it waits for the others, or ends. A thread starts
// through its context and resumes through `_longjmp`. Unlike `swapcontext`, `_longjmp` makes no system call
// for the signal mask.

#ifndef STAND_IN_PROGRAM
#define STAND_IN_PROGRAM

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#define __device__ static
#define __global__
#define __constant__
#define __forceinline__ inline
#define __launch_bounds__(threads)
#define __shared__ static

struct uint4 {
    unsigned int x, y, z, w;
};

struct Index {
    unsigned int x;
};

static Index blockIdx, threadIdx, blockDim;

namespace stand_in {

// A thread of a group, and its position.
struct Thread {
    ucontext_t start;
    jmp_buf at;
    char *stack;
    bool is_begun, is_done;
};

// The function of all threads, and the arguments of its entry.
static void (*body)();
static void **given;
static Thread *running;
static jmp_buf turns;

}  // namespace stand_in

static void __syncthreads() {
    if (!_setjmp(stand_in::running->at)) _longjmp(stand_in::turns, 1);
}

static unsigned int atomicAdd(unsigned int *to, unsigned int more) {
    unsigned int before = *to;
    *to += more;
    return before;
}

static unsigned int __byte_perm(unsigned int a, unsigned int b, unsigned int selector) {
    unsigned long long both = (unsigned long long)b << 32 | a;
    unsigned int result = 0;
    for (int at = 0; at < 4; at++) result |= (both >> 8 * (selector >> 4 * at & 7) & 255) << 8 * at;
    return result;
}

// A GPU's functions on the host. Its compiler is instructed not to fuse operations.
static unsigned int __umulhi(unsigned int a, unsigned int b) { return (unsigned long long)a * b >> 32; }
static int __clz(unsigned int a) { return a ? __builtin_clz(a) : 32; }

template <class To, class From> static To stand_in_bits(From from) {
    To to;
    static_assert(sizeof to == sizeof from, "as many bits");
    memcpy(&to, &from, sizeof to);
    return to;
}

static float __uint_as_float(unsigned int a) { return stand_in_bits<float>(a); }
static unsigned int __float_as_uint(float a) { return stand_in_bits<unsigned int>(a); }
static double __hiloint2double(int high, int low) {
    return stand_in_bits<double>((unsigned long long)(unsigned int)high << 32 | (unsigned int)low);
}
static int __double2loint(double a) { return stand_in_bits<unsigned long long>(a); }
static int __double2hiint(double a) { return stand_in_bits<unsigned long long>(a) >> 32; }

static float __fadd_rn(float a, float b) { return a + b; }
static float __fmul_rn(float a, float b) { return a * b; }
static float __fdiv_rn(float a, float b) { return a / b; }
static float __fsqrt_rn(float a) { return __builtin_sqrtf(a); }
static double __dadd_rn(double a, double b) { return a + b; }
static double __dmul_rn(double a, double b) { return a * b; }
static double __ddiv_rn(double a, double b) { return a / b; }
static double __dsqrt_rn(double a) { return __builtin_sqrt(a); }

#else

namespace stand_in {

static const size_t STACK_BYTES = 1 << 18;
static const unsigned char RUBBISH = 0xa5;

static void begin() {
    body();
    running->is_done = true;
    _longjmp(turns, 1);
}

// Runs a thread until it waits or ends.
static void go_on(Thread &thread) {
    running = &thread;
    if (_setjmp(turns)) return;
    if (thread.is_begun) _longjmp(thread.at, 1);
    thread.is_begun = true;
    setcontext(&thread.start);
}

// Runs a group: every thread up to a barrier, then every thread up to the next one.
static void run_group(Thread *threads, unsigned count) {
    for (Thread *thread = threads; thread < threads + count; thread++) {
        thread->is_begun = thread->is_done = false;
        getcontext(&thread->start);
        thread->start.uc_stack.ss_sp = thread->stack;
        thread->start.uc_stack.ss_size = STACK_BYTES;
        makecontext(&thread->start, begin, 0);
    }
    for (unsigned left = count; left > 0;) {
        for (unsigned at = 0; at < count; at++) {
            if (threads[at].is_done) continue;
            threadIdx.x = at;
            go_on(threads[at]);
            left -= threads[at].is_done;
        }
    }
}

static void run(unsigned groups, unsigned count, size_t dynamic_bytes) {
    Thread *threads = (Thread *)calloc(count, sizeof(Thread));
    char *stacks = (char *)malloc(count * STACK_BYTES);
    if (!threads || !stacks) abort();
    for (unsigned at = 0; at < count; at++) threads[at].stack = stacks + at * STACK_BYTES;
    blockDim.x = count;
#ifdef DYNAMIC
    memset(DYNAMIC, RUBBISH, sizeof DYNAMIC);
#endif
    for (blockIdx.x = 0; blockIdx.x < groups; blockIdx.x++) {
#ifdef DYNAMIC
        memset(DYNAMIC, RUBBISH, dynamic_bytes);
#endif
        run_group(threads, count);
    }
#ifdef DYNAMIC
    // The program must not write beyond the shared memory that it requested.
    for (size_t at = dynamic_bytes; at < sizeof DYNAMIC; at++) {
        if (((unsigned char *)DYNAMIC)[at] != RUBBISH) abort();
    }
#endif
    free(stacks);
    free(threads);
}

template <class Source, class Goal, class Job>
static void call(void (*entry)(Source, Goal, Job)) {
    entry(*(Source *)given[0], *(Goal *)given[1], *(Job *)given[2]);
}

}  // namespace stand_in

#define STAND_IN_ENTRY(name)                                                                                 \
    static void call_##name() { stand_in::call(name); }                                                      \
    extern "C" void stand_in_##name(unsigned groups, unsigned threads, size_t dynamic_bytes, void **with) { \
        stand_in::body = call_##name;                                                                        \
        stand_in::given = with;                                                                              \
        stand_in::run(groups, threads, dynamic_bytes);                                                       \
    }

#endif
