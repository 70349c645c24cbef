/* SPDX-License-Identifier: Apache-2.0
 *
 * unpack.h: a hostile tar file (plain, gzip or zstd) into a folder. Every name is resolved beneath
 * that folder by the kernel (openat2), component by component; nothing outside it can be read or
 * written. Refused with one sentence: absolute names, "..", links that lead out, devices, FIFOs,
 * owners over 65535, and whatever passes a limit. Extended attributes are not taken over.
 *
 *     struct unpack u = {.root = dir_fd, .limits = UNPACK_LIMITS};
 *     unpack_tar(&u, fd, false, digest, err)        layers of one image share u: limits are for
 * their sum
 */
#ifndef AGENT_UNPACK_H
#define AGENT_UNPACK_H
#include "base/core/err.h"
#include "base/io/crypto.h"
#include <stdint.h>

/* A file with at least so many bytes of holes is remembered: reading it would take minutes. */
#define UNPACK_HOLEY (1LL << 30)
enum { UNPACK_HOLEY_MAX = 32 };

/* Of one part of a name. mkfs.erofs (erofs-utils 1.5) fails at 255, where the kernel would not. */
enum { IMAGE_NAME_BYTES = 254 };

struct unpack_limits {
    int64_t bytes; /* sum of file sizes, holes included */
    int64_t files; /* entries of any kind */
    int depth;     /* components of a name */
    int64_t ratio; /* bytes on disk : packed bytes, once ratio_after bytes are on disk */
    int64_t ratio_after;
};
/* The largest public framework image (ROCm with PyTorch) is about 70 GB in 600,000 files. */
#define UNPACK_LIMITS ((struct unpack_limits){128LL << 30, 2000000, 64, 100, 64LL << 20})

struct unpack {
    int root; /* folder, open */
    struct unpack_limits limits;
    int64_t bytes, files, packed; /* so far */
    int (*progress)(void *arg,
                    const struct unpack *u); /* after every 8 MiB or so; non-zero stops */
    void *progress_arg;
    int64_t told, told_files;
    int64_t stored;                /* bytes written; the rest of `bytes` are holes */
    char *holey[UNPACK_HOLEY_MAX]; /* names; unpack_free */
    int holey_n;
};

/* Reads fd to its end. `layer`: .wh. names delete what lower layers brought. ret_digest: SHA-256 of
 * all packed bytes in hex, also after an error (but "" when it is no archive at all), to be
 * compared by the caller before anything is used. */
int unpack_tar(struct unpack *u, int fd, bool layer, char ret_digest[SHA256_HEX],
               struct sl_err *err);
void unpack_free(struct unpack *u);
/* Opens `rel` below `root`, following only links that stay inside. -1 with errno. */
int unpack_open(int root, const char *rel, int flags);
/* Deletes `name` in the folder `dir`, whatever it is; follows no link. */
int tree_remove(int dir, const char *name);
#endif
