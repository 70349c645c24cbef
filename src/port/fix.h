/* SPDX-License-Identifier: Apache-2.0
 *
 * fix.h: the automatic fixes of the hazard rules: edits on the source (EDIT_FIX, rule number in
 * them) that are right for every program the CUDA original was right for.
 *
 * Two readings of a file decide how its lane code is made right on a 64-lane wavefront:
 * - held: nothing in it reads warpSize. Then it was written for warps of 32, which on AMD are the
 * two halves of a wavefront. Every operation keeps its CUDA meaning on its own half: shuffles get
 * the width 32, votes and ballots take the half's 32 bits. Types stay.
 * - generic: it reads warpSize. Then lane masks are widened: unsigned long long, __popcll, 1ull.
 * In both, the mask of a *_sync call becomes __activemask(): 64 bits wide, and the only mask that
 * HIP's own check (mask == set of active lanes, unless NDEBUG) accepts everywhere. The mask of a
 * shuffle does not change its result. For ROCm before 6.2, which has no *_sync, the mask is dropped
 * with the suffix.
 *
 * hazard_scan calls these when opts.fix is set; opts.no_fix[rule] turns one off.
 */
#ifndef PORT_FIX_H
#define PORT_FIX_H
#include "port/hazard_code.h"

/* The half of a 64-lane value that belongs to this logical warp of 32 comes before and after it. */
#define FIX_HALF_OPEN "((unsigned)("
#define FIX_HALF_CLOSE " >> (__lane_id() & 32)))"

/* Stands behind a converted second argument of __launch_bounds__, so that it is converted once. */
#define FIX_BOUNDS_MARK "/* wavefronts per execution unit */"

/* ROCm versions that brought the names the fixes choose between (HIP changelogs). */
enum { FIX_ROCM_SYNC = 60200, FIX_ROCM_SYNCWARP = 70000 };

bool fix_on(const struct hz *h, enum hazard_no no);
/* Replaces n bytes at `at` and marks the finding (which may be NULL) as fixed, with `text` as what
 * is shown unless it has a better one. */
void fix_edit(struct hz *h, enum hazard_no no, struct finding *d, size_t at, size_t n,
              const char *text);

/* The mask argument of a shuffle at i. */
void fix_shuffle_mask(struct hz *h, enum hazard_no no, struct finding *d, uint32_t i,
                      const struct hz_args *a);
/* Appends the width 32 to a shuffle's arguments. */
void fix_shuffle_width(struct hz *h, struct finding *d, const struct hz_args *a);
/* A ballot, vote, match or activemask at i, held: keeps the half. `full`: the mask is every lane.
 */
void fix_held_vote(struct hz *h, enum hazard_no no, struct finding *d, uint32_t i, enum hz_warp op,
                   bool sync, bool full, const struct hz_args *a);
/* A vote in generic code: the mask widened, or dropped before ROCm 6.2. */
void fix_generic_vote(struct hz *h, enum hazard_no no, struct finding *d, uint32_t i, bool full,
                      const struct hz_args *a);
/* Widens a 32-bit variable that holds a lane mask, and its uses; false (and no edit) when a use is
 * not understood. */
bool fix_widen(struct hz *h, struct finding *d, const struct hz_decl *v);
/* __popc -> __popcll and its like. */
void fix_bit_function(struct hz *h, struct finding *d, uint32_t i);
void fix_syncwarp(struct hz *h, enum hazard_no no, struct finding *d, uint32_t i,
                  const struct hz_args *a);
/* Second argument of __launch_bounds__ at argument k. */
void fix_launch_bounds(struct hz *h, struct finding *d, const struct hz_args *a);
/* A directive that asks whether a macro of CUDA is defined asks for AMD's `amd` too. i is its
 * LEX_HASH, `name` the macro in it. False when it stands in another form. */
bool fix_guard(struct hz *h, enum hazard_no no, struct finding *d, uint32_t i, uint32_t name,
               const char *amd);
#endif
