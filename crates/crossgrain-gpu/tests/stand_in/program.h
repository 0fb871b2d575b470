// What CUDA C needs to be C++: included before a program, and once more after it.
//
// The threads of a group take turns: each runs until it has to wait for the others, or ends.

#ifndef STAND_IN_PROGRAM
#define STAND_IN_PROGRAM

#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include <functional>
#include <memory>
#include <vector>

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

// A thread of a group, and where it stands.
struct Thread {
    ucontext_t at;
    std::unique_ptr<char[]> stack;
    bool is_done;
};

static std::function<void()> body;
static Thread *running;
static ucontext_t turns;

}  // namespace stand_in

static void __syncthreads() { swapcontext(&stand_in::running->at, &stand_in::turns); }

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

#else

namespace stand_in {

static const size_t STACK_BYTES = 1 << 18;
static const unsigned char RUBBISH = 0xa5;

static void begin() {
    body();
    running->is_done = true;
}

// A group: every thread up to a barrier, then every thread up to the next.
static void run_group(std::vector<Thread> &threads) {
    for (Thread &thread : threads) {
        thread.is_done = false;
        getcontext(&thread.at);
        thread.at.uc_stack.ss_sp = thread.stack.get();
        thread.at.uc_stack.ss_size = STACK_BYTES;
        thread.at.uc_link = &turns;
        makecontext(&thread.at, begin, 0);
    }
    for (size_t left = threads.size(); left > 0;) {
        for (Thread &thread : threads) {
            if (thread.is_done) continue;
            threadIdx.x = &thread - threads.data();
            running = &thread;
            swapcontext(&turns, &thread.at);
            left -= thread.is_done;
        }
    }
}

static void run(unsigned groups, unsigned count, size_t dynamic_bytes) {
    std::vector<Thread> threads(count);
    for (Thread &thread : threads) thread.stack.reset(new char[STACK_BYTES]);
    blockDim.x = count;
    for (blockIdx.x = 0; blockIdx.x < groups; blockIdx.x++) {
#ifdef DYNAMIC
        memset(DYNAMIC, RUBBISH, sizeof DYNAMIC);
#endif
        run_group(threads);
#ifdef DYNAMIC
        // Nobody may have written what was not asked for.
        for (size_t at = dynamic_bytes; at < sizeof DYNAMIC; at++) {
            if (((unsigned char *)DYNAMIC)[at] != RUBBISH) abort();
        }
#endif
    }
}

template <class Source, class Goal, class Job>
static std::function<void()> call(void (*entry)(Source, Goal, Job), void **with) {
    return [=] { entry(*(Source *)with[0], *(Goal *)with[1], *(Job *)with[2]); };
}

}  // namespace stand_in

#define STAND_IN_ENTRY(name)                                                                                 \
    extern "C" void stand_in_##name(unsigned groups, unsigned threads, size_t dynamic_bytes, void **with) { \
        stand_in::body = stand_in::call(name, with);                                                         \
        stand_in::run(groups, threads, dynamic_bytes);                                                       \
    }

#endif
