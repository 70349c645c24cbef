/* SPDX-License-Identifier: Apache-2.0
 *
 * core.h: what a kernel and the CPU runtime (run.cc) say to each other.
 *
 * One lane is one fibre. A lane runs until it reaches a wave operation (shuffle, ballot, ...), a
 * block barrier, or its end. When every lane of a wave waits, the lanes that stand at the same
 * place in the program go on together; of several places the one that comes first in the program
 * goes first, which is how a wavefront reconverges. Blocks run in parallel on the machine's cores.
 *
 * The wave size is starport_wave_size (32 or 64), read from STARPORT_WAVE when the program starts.
 */
#ifndef STARPORT_CORE_H
#define STARPORT_CORE_H
#include <cstddef>
#include <cstdint>
#include <cstring>

#if defined(__clang__)
#define STARPORT_SITE __attribute__((noinline, convergent, noduplicate))
#else
#define STARPORT_SITE __attribute__((noinline, noclone))
#endif
#define STARPORT_INLINE inline __attribute__((always_inline))

extern "C" {
extern int starport_wave_size;

/* What the lanes of one group see after a wave operation. Valid until the lane's next one. */
struct starport_view {
    uint64_t active;               /* lanes that took part */
    unsigned lane;                 /* the caller's own */
    const unsigned char *peer[64]; /* what each active lane handed in; NULL for the others */
};
enum { STARPORT_SLOT_BYTES = 64 }; /* largest value that a shuffle can carry */

/* Waits for the group, publishes n bytes of *value (n may be 0) and returns the view. `mask` is the
 * mask of a *_sync call (checked against the caller's own lane), or all ones. */
STARPORT_SITE const struct starport_view *starport_wave_op(const void *value, unsigned n,
                                                           uint64_t mask);
/* Lock-step point before an operation that lanes of a wave can spin on (compare-and-swap,
 * exchange). */
STARPORT_SITE void starport_converge(void);
/* __syncthreads and its _count/_and/_or forms: returns how many threads of the block passed
 * non-zero. */
STARPORT_SITE int starport_barrier(int predicate);
unsigned starport_lane_id(void);

/* A __shared__ variable gets a number once, and storage in every block that uses it. */
int starport_shared_new(const char *name, const char *file, int line, size_t bytes);
void *starport_shared_at(int slot);
void *starport_shared_dynamic(void);

struct starport_launch {
    unsigned grid[3], block[3];
    size_t dynamic_bytes;
    void (*call)(const void *kernel_and_arguments);
    const void *arg;
    const void *kernel; /* for messages */
};
/* Runs every block of the grid, returns when all have ended; a hipError_t. */
int starport_run(const struct starport_launch *l);
/* A line for the report of `starport verify`: kind, then the caller's place, then text. */
void starport_note(const char *kind, const void *place, const char *text);
/* Device-to-host copies are kept for the comparison of two runs. */
void starport_copied(const void *bytes, size_t n, const void *place);
void *starport_alloc(size_t n);
int starport_free(void *p);
/* Bytes from p to the end of the allocation that it points into; 0 when it is none of ours. */
size_t starport_alloc_rest(const void *p);
}

struct uint3;
struct dim3;

namespace starport
{
template <class Tag> struct shared_slot {
    static int get(const char *name, const char *file, int line, size_t n)
    {
        static const int slot = starport_shared_new(name, file, line, n);
        return slot;
    }
};
/* `starport verify` rewrites `__shared__ T name[N];` to a reference that this returns. */
template <class Tag, class T>
STARPORT_INLINE T &shared(const char *name, const char *file, int line)
{
    return *static_cast<T *>(
        starport_shared_at(shared_slot<Tag>::get(name, file, line, sizeof(T))));
}
/* ... and `extern __shared__ T name[];` to one of these. */
template <class T> struct dynamic_shared {
    T *get() const { return static_cast<T *>(starport_shared_dynamic()); }
    operator T *() const { return get(); }
    template <class I> T &operator[](I i) const { return get()[i]; }
    template <class I> T *operator+(I i) const { return get() + i; }
    T &operator*() const { return *get(); }
    template <class U> explicit operator U *() const { return reinterpret_cast<U *>(get()); }
};
} // namespace starport
#endif
