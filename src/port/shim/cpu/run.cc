/* SPDX-License-Identifier: Apache-2.0
 *
 * run.cc: runs the blocks of a kernel on the CPU. See core.h for the model.
 *
 * Compiled without instrumentation next to the program; the program is compiled with
 * -fsanitize=kernel-address in its out-of-line form, whose call-backs (__asan_load4_noabort ...)
 * are defined here and check every access that falls into the shared-memory arena of the running
 * block.
 *
 * Environment: STARPORT_WAVE (32 or 64), STARPORT_THREADS, STARPORT_REPORT (file that findings are
 * appended to), STARPORT_COPIES (file that device-to-host copies are written to), STARPORT_LIMIT_S,
 * STARPORT_LOCKSTEP=1.
 */
#include "starport/core.h"
#include "starport/vector.h"
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <map>
#include <mutex>
#include <pthread.h>
#include <set>
#include <string>
#include <sys/mman.h>
#include <thread>
#include <ucontext.h>
#include <unistd.h>
#include <vector>

__thread uint3 threadIdx, blockIdx, starport_block_dim, starport_grid_dim;
extern "C" {
int starport_wave_size = 64, starport_last_error;
}

namespace
{
constexpr size_t stack_bytes = 256 << 10, page = 4096;
constexpr size_t slot_bytes = 512 << 10,
                 slot_start = 64 << 10; /* room for overruns on both sides */
constexpr int slots_max = 512, chain_max = 16;
constexpr size_t lds_bytes = 64 << 10; /* gfx90a and gfx942 */
constexpr unsigned spin_rounds = 20000;

enum lane_state { NEW, RUN, WAVE, SPIN, STEP, BARRIER, DONE };
bool lockstep; /* every access to shared memory is a point where the lanes of a wave wait */

struct lane {
    void *sp;
    char *stack;
    lane_state state;
    unsigned char phase;
    int predicate, result;
    unsigned depth; /* return addresses, outermost first */
    const void *chain[chain_max];
    unsigned char slot[2][STARPORT_SLOT_BYTES];
};

struct wave {
    starport_view view;
    uint64_t last_group;
    unsigned rounds; /* how often the same lanes went through the same spin point in a row */
    bool fair, flip;
};

struct worker {
    void *sched_sp = nullptr;
    std::vector<lane> lanes;
    std::vector<wave> waves;
    std::vector<char *> stacks;
    char *arena = nullptr;
    const starport_launch *launch = nullptr;
    unsigned n = 0, current = 0, live = 0, block_number = 0;
    bool inside = false; /* a lane is running */
    unsigned touched[slots_max] = {};
    pthread_t thread{};
};
__thread worker *self;

struct shared_slot_info {
    size_t bytes;
    const char *name;
    const char *file;
    int line;
} slot_info[slots_max] = {{0, "dynamic shared memory", "", 0}};
std::atomic<int> slots_used{1};
std::mutex report_lock;
int report_fd = -1, copies_fd = -1;
size_t copies_left = 256u << 20;

void report(const char *kind, const void *place, const char *text)
{
    static std::set<std::pair<std::string, const void *>> seen;
    std::lock_guard<std::mutex> g(report_lock);
    if (report_fd < 0 || !seen.insert({kind, place}).second)
        return;
    char line[700];
    int n = snprintf(line, sizeof line, "%s\t%lx\t%s\n", kind, (unsigned long)place, text);
    if (write(report_fd, line, (size_t)n < sizeof line ? (size_t)n : sizeof line - 1) < 0)
        report_fd = -1;
}
} // namespace

/* --- switching stacks ------------------------------------------------------------------------- */
extern "C" void starport_switch(void **save, void *load);
extern "C" void starport_lane_start(void);
#if defined(__x86_64__)
asm(".text\n.globl starport_switch\nstarport_switch:\n"
    "push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\n"
    "mov %rsp,(%rdi)\nmov %rsi,%rsp\n"
    "pop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\nret\n"
    ".globl starport_lane_start\nstarport_lane_start:\n"
    "xor %ebp,%ebp\npush %rbp\npush %rbp\njmp starport_lane_main\n");
static void *stack_prepare(char *stack)
{
    void **sp = (void **)(stack + stack_bytes) - 8;
    for (int i = 0; i < 6; i++)
        sp[i] = nullptr;
    sp[6] = (void *)starport_lane_start;
    return sp;
}
static const void *context_pc(const ucontext_t *u)
{
    return (void *)u->uc_mcontext.gregs[REG_RIP];
}
#elif defined(__aarch64__)
asm(".text\n.globl starport_switch\nstarport_switch:\n"
    "sub sp,sp,#160\nstp x19,x20,[sp]\nstp x21,x22,[sp,#16]\nstp x23,x24,[sp,#32]\n"
    "stp x25,x26,[sp,#48]\nstp x27,x28,[sp,#64]\nstp x29,x30,[sp,#80]\n"
    "stp d8,d9,[sp,#96]\nstp d10,d11,[sp,#112]\nstp d12,d13,[sp,#128]\nstp d14,d15,[sp,#144]\n"
    "mov x9,sp\nstr x9,[x0]\nmov sp,x1\n"
    "ldp x19,x20,[sp]\nldp x21,x22,[sp,#16]\nldp x23,x24,[sp,#32]\n"
    "ldp x25,x26,[sp,#48]\nldp x27,x28,[sp,#64]\nldp x29,x30,[sp,#80]\n"
    "ldp d8,d9,[sp,#96]\nldp d10,d11,[sp,#112]\nldp d12,d13,[sp,#128]\nldp d14,d15,[sp,#144]\n"
    "add sp,sp,#160\nret\n"
    ".globl starport_lane_start\nstarport_lane_start:\nmov x29,#0\nmov x30,#0\n"
    "b starport_lane_main\n");
static void *stack_prepare(char *stack)
{
    void **sp = (void **)(stack + stack_bytes) - 20;
    for (int i = 0; i < 20; i++)
        sp[i] = nullptr;
    sp[11] = (void *)starport_lane_start;
    return sp;
}
static const void *context_pc(const ucontext_t *u)
{
    return (void *)u->uc_mcontext.pc;
}
#else
#error "the CPU runtime knows x86-64 and arm64"
#endif

static char *stack_new()
{
    char *p = (char *)mmap(nullptr, stack_bytes + page, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) {
        perror("starport: stack of a lane");
        abort();
    }
    mprotect(p, page, PROT_NONE);
    return p + page;
}

extern "C" void starport_lane_main(void)
{
    worker *w = self;
    w->launch->call(w->launch->arg);
    lane *l = &w->lanes[w->current];
    l->state = DONE;
    starport_switch(&l->sp, w->sched_sp);
    abort();
}

/* The lane's call chain, outermost first: which of two places comes first in the program. */
static __attribute__((noinline)) void chain_take(lane *l, void **fp)
{
    const void *inner[64];
    unsigned n = 0;
    char *lo = l->stack, *hi = l->stack + stack_bytes;
    while (n < 64 && (char *)fp >= lo && (char *)fp < hi - 16) {
        inner[n++] = fp[1];
        fp = (void **)fp[0];
    }
    l->depth = n < chain_max ? n : chain_max;
    for (unsigned i = 0; i < l->depth; i++)
        l->chain[i] = inner[n - 1 - i];
}

static int chain_compare(const lane *a, const lane *b)
{
    for (unsigned i = 0; i < a->depth && i < b->depth; i++)
        if (a->chain[i] != b->chain[i])
            return a->chain[i] < b->chain[i] ? -1 : 1;
    return a->depth == b->depth ? 0 : a->depth < b->depth ? -1 : 1;
}

static const void *lane_place(const lane *l)
{
    return l->depth ? l->chain[l->depth - 1] : nullptr;
}

static void lane_wait(lane_state why, void **fp)
{
    worker *w = self;
    lane *l = &w->lanes[w->current];
    l->state = why;
    chain_take(l, fp);
    starport_switch(&l->sp, w->sched_sp);
}

static void lane_run(worker *w, unsigned i)
{
    lane *l = &w->lanes[i];
    if (l->state == NEW) {
        if (w->stacks.empty())
            w->stacks.push_back(stack_new());
        l->stack = w->stacks.back();
        w->stacks.pop_back();
        l->sp = stack_prepare(l->stack);
    }
    const unsigned *b = w->launch->block;
    threadIdx = {i % b[0], i / b[0] % b[1], i / b[0] / b[1]};
    w->current = i;
    l->state = RUN;
    w->inside = true;
    starport_switch(&w->sched_sp, l->sp);
    w->inside = false;
    if (l->state == DONE) {
        w->stacks.push_back(l->stack);
        l->stack = nullptr;
        w->live--;
    }
}

/* --- one wave, one block ------------------------------------------------------------------------
 */
static void spin_check(wave *v, uint64_t group, uint64_t others, lane *leader, lane *other)
{
    bool same = group == v->last_group && leader->state == SPIN && others;
    v->last_group = group;
    v->rounds = same ? v->rounds + 1 : 0;
    if (v->rounds < spin_rounds || v->fair)
        return;
    v->fair = true; /* report once, then let the others go on so that the program can end */
    char text[200];
    snprintf(
        text, sizeof text,
        "%d lanes spin here while %d lanes of their wave wait elsewhere: on lock-step hardware "
        "this never ends (other=%lx)",
        __builtin_popcountll(group), __builtin_popcountll(others),
        (unsigned long)lane_place(other));
    report("spin", lane_place(leader), text);
}

/* Picks the lanes that go on together; false when all lanes are at the barrier or have ended. */
static bool wave_release(worker *w, unsigned number)
{
    unsigned first = number * (unsigned)starport_wave_size;
    unsigned end = std::min(first + (unsigned)starport_wave_size, w->n);
    wave *v = &w->waves[number];
    lane *best = nullptr, *other = nullptr;
    bool last = v->fair && (v->flip = !v->flip);
    for (unsigned i = first; i < end; i++) {
        lane *l = &w->lanes[i];
        if (l->state != WAVE && l->state != SPIN && l->state != STEP)
            continue;
        int c = best ? chain_compare(l, best) : -1;
        if (!best || (last ? c > 0 : c < 0))
            best = l;
    }
    if (!best)
        return false;
    uint64_t group = 0, others = 0;
    for (unsigned i = first; i < end; i++) {
        lane *l = &w->lanes[i];
        bool waits = l->state != NEW && l->state != RUN && l->state != DONE;
        if (l->state == best->state && chain_compare(l, best) == 0) {
            group |= 1ull << (i - first);
        } else if (waits) {
            others |= 1ull << (i - first);
            other = l;
        }
    }
    if (best->state == SPIN)
        spin_check(v, group, others, best, other);
    for (unsigned i = first; i < first + 64; i++)
        v->view.peer[i - first] =
            i < end && group >> (i - first) & 1 ? w->lanes[i].slot[w->lanes[i].phase] : nullptr;
    v->view.active = group;
    for (uint64_t left = group; left; left &= left - 1)
        lane_run(w, first + (unsigned)__builtin_ctzll(left));
    return true;
}

static void barrier_release(worker *w)
{
    lane *first = nullptr, *last = nullptr; /* in the program's order */
    int sum = 0;
    unsigned waiting = 0;
    for (unsigned i = 0; i < w->n; i++) {
        lane *l = &w->lanes[i];
        if (l->state != BARRIER)
            continue;
        waiting++;
        sum += l->predicate;
        if (!first || chain_compare(l, first) < 0)
            first = l;
        if (!last || chain_compare(l, last) > 0)
            last = l;
    }
    const lane *odd = first != last && chain_compare(first, last) != 0 ? last : nullptr;
    char text[200];
    if (odd) {
        snprintf(text, sizeof text,
                 "threads of one block wait at different barriers (other=%lx): the barrier is in "
                 "code that not all of them reach",
                 (unsigned long)lane_place(odd));
        report("barrier", lane_place(first), text);
    } else if (waiting < w->n) {
        snprintf(text, sizeof text, "%u of %u threads had ended before this barrier",
                 w->n - waiting, w->n);
        report("barrier-exit", lane_place(first), text);
    }
    for (unsigned i = 0; i < w->n; i++) {
        lane *l = &w->lanes[i];
        if (l->state == BARRIER) {
            l->state = RUN;
            l->result = sum;
        }
    }
}

static void block_run(worker *w, unsigned block)
{
    const starport_launch *l = w->launch;
    blockIdx = {block % l->grid[0], block / l->grid[0] % l->grid[1],
                block / l->grid[0] / l->grid[1]};
    w->block_number++;
    w->live = w->n;
    unsigned size = (unsigned)starport_wave_size, waves = (w->n + size - 1) / size;
    for (unsigned i = 0; i < w->n; i++) {
        w->lanes[i].state = NEW;
        w->lanes[i].phase = 0;
    }
    for (unsigned i = 0; i < waves; i++)
        w->waves[i] = wave();
    while (w->live) {
        for (unsigned v = 0; v < waves; v++) {
            for (unsigned i = v * size; i < w->n && i < (v + 1) * size; i++)
                if (w->lanes[i].state == NEW || w->lanes[i].state == RUN)
                    lane_run(w, i);
            while (wave_release(w, v))
                ;
        }
        if (w->live)
            barrier_release(w);
    }
}

/* --- what kernels call ---------------------------------------------------------------------------
 */
extern "C" const starport_view *starport_wave_op(const void *value, unsigned n, uint64_t mask)
{
    worker *w = self;
    static starport_view alone;
    if (!w || !w->inside)
        return &alone;
    lane *l = &w->lanes[w->current];
    unsigned in_wave = w->current % (unsigned)starport_wave_size;
    l->phase ^= 1;
    if (n)
        memcpy(l->slot[l->phase], value, std::min<size_t>(n, STARPORT_SLOT_BYTES));
    if (!(mask >> in_wave & 1)) {
        char text[160];
        snprintf(text, sizeof text,
                 "lane %u executes this call, but its mask 0x%llx does not name it", in_wave,
                 (unsigned long long)mask);
        report("mask", __builtin_return_address(0), text);
    }
    lane_wait(WAVE, (void **)__builtin_frame_address(0));
    wave *v = &w->waves[w->current / (unsigned)starport_wave_size];
    v->view.lane = w->current % (unsigned)starport_wave_size;
    return &v->view;
}

extern "C" void starport_converge(void)
{
    if (self && self->inside)
        lane_wait(SPIN, (void **)__builtin_frame_address(0));
}

extern "C" int starport_barrier(int predicate)
{
    worker *w = self;
    if (!w || !w->inside)
        return 0;
    lane *l = &w->lanes[w->current];
    l->predicate = predicate != 0;
    lane_wait(BARRIER, (void **)__builtin_frame_address(0));
    return l->result;
}

extern "C" unsigned starport_lane_id(void)
{
    return self ? self->current % (unsigned)starport_wave_size : 0;
}

extern "C" int starport_shared_new(const char *name, const char *file, int line, size_t bytes)
{
    int slot = slots_used++;
    if (slot >= slots_max || bytes > slot_bytes - 2 * slot_start) {
        fprintf(stderr, "starport: %s:%d: __shared__ %s: %s\n", file, line, name,
                slot >= slots_max ? "too many shared variables" : "too large for any GPU");
        _exit(126);
    }
    slot_info[slot] = {bytes, name, file, line};
    return slot;
}

extern "C" void *starport_shared_at(int slot)
{
    worker *w = self;
    if (!w || !w->inside) {
        fprintf(stderr, "starport: shared variable \"%s\" used outside of a kernel\n",
                slot_info[slot].name);
        _exit(126);
    }
    char *p = w->arena + (size_t)slot * slot_bytes + slot_start;
    if (w->touched[slot] != w->block_number) {
        w->touched[slot] = w->block_number; /* a GPU does not clear it either */
        memset(p, starport_wave_size == 64 ? 0xc3 : 0x3c, slot_info[slot].bytes);
    }
    return p;
}
extern "C" void *starport_shared_dynamic(void)
{
    return starport_shared_at(0);
}

extern "C" void starport_note(const char *kind, const void *place, const char *text)
{
    report(kind, place, text);
}

/* --- launches
 * -------------------------------------------------------------------------------------- */
namespace
{
struct pool {
    std::mutex lock;
    std::condition_variable start, finish;
    const starport_launch *launch = nullptr;
    std::atomic<unsigned> next{0};
    unsigned blocks = 0, generation = 0, busy = 0, helpers = 0;
    std::vector<worker *> workers;
} * the_pool;

void worker_blocks(worker *w, const starport_launch *l, unsigned blocks)
{
    self = w;
    w->launch = l;
    w->n = l->block[0] * l->block[1] * l->block[2];
    w->thread = pthread_self();
    if (w->lanes.size() < w->n)
        w->lanes.resize(w->n);
    w->waves.resize(w->n / (unsigned)starport_wave_size + 1);
    if (!w->arena)
        w->arena = (char *)mmap(nullptr, slots_max * slot_bytes, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    starport_block_dim = {l->block[0], l->block[1], l->block[2]};
    starport_grid_dim = {l->grid[0], l->grid[1], l->grid[2]};
    for (unsigned b; (b = the_pool->next++) < blocks;)
        block_run(w, b);
    self = nullptr;
}

void signal_stack()
{
    stack_t s = {};
    s.ss_size = 64 << 10;
    s.ss_sp = malloc(s.ss_size);
    sigaltstack(&s, nullptr);
}

void helper_main(worker *w)
{
    signal_stack();
    unsigned seen = 0;
    for (;;) {
        std::unique_lock<std::mutex> g(the_pool->lock);
        the_pool->start.wait(g, [&] { return the_pool->generation != seen; });
        seen = the_pool->generation;
        const starport_launch *l = the_pool->launch;
        unsigned blocks = the_pool->blocks;
        g.unlock();
        worker_blocks(w, l, blocks);
        g.lock();
        if (--the_pool->busy == 0)
            the_pool->finish.notify_one();
    }
}
} // namespace

extern "C" int starport_run(const starport_launch *l)
{
    if (self) {
        report("device-launch", __builtin_return_address(0),
               "a kernel is launched in device code: HIP has no dynamic parallelism");
        return 719;
    }
    unsigned long long threads = 1ull * l->block[0] * l->block[1] * l->block[2];
    unsigned long long blocks = 1ull * l->grid[0] * l->grid[1] * l->grid[2];
    if (threads == 0 || threads > 1024 || blocks == 0 || blocks > 0xffffffffu)
        return threads > 1024 ? 1 : 9; /* hipErrorInvalidValue, hipErrorInvalidConfiguration */
    if (l->dynamic_bytes > lds_bytes) {
        char text[160];
        snprintf(text, sizeof text,
                 "%zu bytes of dynamic shared memory: gfx90a and gfx942 have 65536 a block",
                 l->dynamic_bytes);
        report("lds", __builtin_return_address(0), text);
        if (l->dynamic_bytes > slot_bytes - 2 * slot_start)
            return 1;
    }
    slot_info[0].bytes = l->dynamic_bytes;
    the_pool->next = 0;
    if (blocks > 1 && the_pool->helpers) {
        std::lock_guard<std::mutex> g(the_pool->lock);
        the_pool->launch = l;
        the_pool->blocks = (unsigned)blocks;
        the_pool->busy = the_pool->helpers;
        the_pool->generation++;
        the_pool->start.notify_all();
    }
    worker_blocks(the_pool->workers[0], l, (unsigned)blocks);
    std::unique_lock<std::mutex> g(the_pool->lock);
    the_pool->finish.wait(g, [] { return the_pool->busy == 0; });
    return 0;
}

/* --- device memory: each allocation ends at a page that cannot be touched
 * --------------------------- */
namespace
{
std::mutex alloc_lock;
std::map<char *, std::pair<size_t, size_t>> allocs; /* user pointer -> asked for, mapped */
} // namespace

extern "C" void *starport_alloc(size_t n)
{
    size_t body = (n + 255) / 256 * 256, mapped = (body + page - 1) / page * page;
    char *p = (char *)mmap(nullptr, mapped + page, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        return nullptr;
    mprotect(p + mapped, page, PROT_NONE);
    char *user = p + mapped - body;
    std::lock_guard<std::mutex> g(alloc_lock);
    allocs[user] = {n, mapped};
    return user;
}

extern "C" int starport_free(void *p)
{
    if (!p)
        return 0;
    std::lock_guard<std::mutex> g(alloc_lock);
    auto it = allocs.find((char *)p);
    if (it == allocs.end())
        return 1;
    size_t mapped = it->second.second, body = (it->second.first + 255) / 256 * 256;
    munmap((char *)p + body - mapped, mapped + page);
    allocs.erase(it);
    return 0;
}

extern "C" size_t starport_alloc_rest(const void *p)
{
    std::lock_guard<std::mutex> g(alloc_lock);
    auto it = allocs.upper_bound((char *)p);
    if (it == allocs.begin())
        return 0;
    --it;
    size_t off = (size_t)((const char *)p - it->first);
    return off < it->second.first ? it->second.first - off : 0;
}

extern "C" void starport_copied(const void *bytes, size_t n, const void *place)
{
    std::lock_guard<std::mutex> g(report_lock);
    if (copies_fd < 0 || n > copies_left)
        return;
    copies_left -= n;
    uint64_t head[3] = {0x79706f63, (uint64_t)(uintptr_t)place, n};
    if (write(copies_fd, head, sizeof head) < 0 || write(copies_fd, bytes, n) < 0)
        copies_fd = -1;
}

/* --- checks of every access
 * ------------------------------------------------------------------------ */
static __attribute__((noinline)) void shared_bad(size_t off, size_t n, bool store,
                                                 const void *place)
{
    size_t slot = off / slot_bytes;
    const shared_slot_info *i = &slot_info[slot];
    char text[400];
    snprintf(text, sizeof text,
             "%s of %zu bytes at offset %ld of %s \"%s\" (%zu bytes%s) in block (%u,%u,%u), "
             "thread (%u,%u,%u)",
             store ? "write" : "read", n, (long)(off % slot_bytes) - (long)slot_start,
             slot ? "shared array" : "the", i->name ? i->name : "?", i->bytes,
             slot ? "" : " at this launch", blockIdx.x, blockIdx.y, blockIdx.z, threadIdx.x,
             threadIdx.y, threadIdx.z);
    report("bounds", place, text);
}

static inline void access(uintptr_t a, size_t n, bool store, const void *place)
{
    worker *w = self;
    if (!w || a - (uintptr_t)w->arena >= slots_max * slot_bytes)
        return;
    size_t off = a - (uintptr_t)w->arena, in = off % slot_bytes;
    if (__builtin_expect(in < slot_start || in + n > slot_start + slot_info[off / slot_bytes].bytes,
                         0))
        shared_bad(off, n, store, place);
    if (__builtin_expect(lockstep, 0) && w->inside)
        lane_wait(STEP, (void **)__builtin_frame_address(0));
}

extern "C" {
#define STARPORT_ACCESS(N)                                                                         \
    void __asan_load##N##_noabort(uintptr_t a);                                                    \
    void __asan_store##N##_noabort(uintptr_t a);                                                   \
    void __asan_load##N##_noabort(uintptr_t a)                                                     \
    {                                                                                              \
        access(a, N, false, __builtin_return_address(0));                                          \
    }                                                                                              \
    void __asan_store##N##_noabort(uintptr_t a)                                                    \
    {                                                                                              \
        access(a, N, true, __builtin_return_address(0));                                           \
    }
STARPORT_ACCESS(1)
STARPORT_ACCESS(2)
STARPORT_ACCESS(4)
STARPORT_ACCESS(8)
STARPORT_ACCESS(16)
void __asan_loadN_noabort(uintptr_t a, size_t n);
void __asan_storeN_noabort(uintptr_t a, size_t n);
void __asan_handle_no_return(void);
void __asan_loadN_noabort(uintptr_t a, size_t n)
{
    access(a, n, false, __builtin_return_address(0));
}
void __asan_storeN_noabort(uintptr_t a, size_t n)
{
    access(a, n, true, __builtin_return_address(0));
}
void __asan_handle_no_return(void) {}
}

/* --- start, end, signals
 * --------------------------------------------------------------------------- */
/* Return addresses above an interrupted function, as "a,b,c": the function may be the runtime's
 * own. */
static void callers(const ucontext_t *u, char *text, size_t size)
{
#if defined(__x86_64__)
    void **fp = (void **)u->uc_mcontext.gregs[REG_RBP];
#else
    void **fp = (void **)u->uc_mcontext.regs[29];
#endif
    worker *w = self;
    size_t n = 0;
    text[0] = '0';
    text[1] = 0;
    if (!w || !w->inside)
        return;
    char *lo = w->lanes[w->current].stack, *hi = lo + stack_bytes;
    for (int i = 0; i < 6 && (char *)fp >= lo && (char *)fp < hi - 16; i++, fp = (void **)fp[0])
        n += (size_t)snprintf(text + n, size - n, "%s%lx", n ? "," : "", (unsigned long)fp[1]);
}

static void on_limit(int, siginfo_t *, void *context)
{
    /* The clock may hit a thread that only waits (the launching thread too waits, when a helper took
     * the block): ask one that runs a block. */
    if (!self || !self->inside)
        for (worker *w : the_pool->workers)
            if (w->inside) {
                pthread_kill(w->thread, SIGALRM);
                return;
            }
    const void *pc = context_pc((const ucontext_t *)context);
    char text[300], above[150];
    callers((const ucontext_t *)context, above, sizeof above);
    snprintf(text, sizeof text, "still running at the time limit (other=%s)", above);
    report("timeout", pc, text);
    _exit(124);
}

static void on_fault(int sig, siginfo_t *info, void *context)
{
    const void *pc = context_pc((const ucontext_t *)context);
    char text[400], above[150], *a = (char *)info->si_addr;
    callers((const ucontext_t *)context, above, sizeof above);
    worker *w = self;
    const char *what = "an address that is not mapped";
    if (w && w->inside) {
        char *stack = w->lanes[w->current].stack;
        if (a >= stack - page && a < stack)
            what = "the guard page below a lane's stack: local arrays over 256 KiB";
    }
    snprintf(text, sizeof text, "%s: access to %s (%p)%s (other=%s)",
             sig == SIGFPE ? "fault" : "invalid access", what, (void *)a,
             w && w->inside ? "" : " by host code", above);
    report("fault", pc, text);
    _exit(128 + sig);
}

namespace
{
struct start {
    start()
    {
        const char *e = getenv("STARPORT_WAVE");
        if (e)
            starport_wave_size = strtol(e, nullptr, 10) == 32 ? 32 : 64;
#ifdef STARPORT_WAVE_FIXED
        starport_wave_size = STARPORT_WAVE_FIXED;
#endif
        lockstep = getenv("STARPORT_LOCKSTEP") != nullptr;
        if ((e = getenv("STARPORT_REPORT")))
            report_fd = open(e, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
        if ((e = getenv("STARPORT_COPIES")))
            copies_fd = open(e, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
        e = getenv("STARPORT_THREADS");
        long n = e ? strtol(e, nullptr, 10) : (long)std::thread::hardware_concurrency();
        the_pool = new pool;
        the_pool->workers.push_back(new worker);
        for (long i = 1; i < n && i < 64; i++) {
            the_pool->workers.push_back(new worker);
            the_pool->helpers++;
        }
        for (unsigned i = 1; i <= the_pool->helpers; i++)
            std::thread(helper_main, the_pool->workers[i]).detach();
        signal_stack();
        struct sigaction s = {};
        s.sa_flags = SA_SIGINFO | SA_ONSTACK;
        s.sa_sigaction = on_fault;
        for (int sig : {SIGSEGV, SIGBUS, SIGFPE})
            sigaction(sig, &s, nullptr);
        s.sa_sigaction = on_limit;
        sigaction(SIGALRM, &s, nullptr);
        if ((e = getenv("STARPORT_LIMIT_S")))
            alarm((unsigned)strtoul(e, nullptr, 10));
    }
} start_now __attribute__((init_priority(101)));
} // namespace
