/* SPDX-License-Identifier: Apache-2.0
 *
 * A tar file from a stranger, unpacked into a folder of its own: it may be refused, but nothing
 * beside that folder changes. Limits are small, so that a bomb is quick.
 */
#include "agent/unpack.h"
#include "base/core/buf.h"
#include "base/core/mem.h"
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size);

int LLVMFuzzerTestOneInput(const unsigned char *data, size_t size)
{
    char dir[] = "/tmp/starlease-fuzz-tar-XXXXXX", hex[SHA256_HEX];
    struct sl_err err = {0};
    struct stat before, after;
    SL_ASSERT(mkdtemp(dir) != NULL);
    SL_AUTO_CLOSE int outer = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    SL_ASSERT(mkdirat(outer, "root", 0755) == 0);
    SL_AUTO_CLOSE int root = openat(outer, "root", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    SL_AUTO_CLOSE int canary = openat(outer, "canary", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    SL_AUTO_CLOSE int file = memfd_create("tar", MFD_CLOEXEC);
    SL_ASSERT(write(file, data, size) == (ssize_t)size && lseek(file, 0, SEEK_SET) == 0);
    SL_ASSERT(fstat(outer, &before) == 0);
    struct unpack u = {.root = root, .limits = {1 << 20, 1000, 16, 100, 1 << 16}};
    if (unpack_tar(&u, file, size % 2, hex, &err) < 0)
        SL_ASSERT(err.code != SL_OK && *err.msg && !strchr(err.msg, '\n'));
    struct stat c;
    SL_ASSERT(fstat(canary, &c) == 0 && c.st_nlink == 1 && c.st_size == 0 &&
              (c.st_mode & 07777) == 0600);
    SL_ASSERT(unlinkat(outer, "canary", 0) == 0 && tree_remove(outer, "root") == 0);
    SL_ASSERT(fstat(outer, &after) == 0 && before.st_mode == after.st_mode);
    SL_ASSERT(rmdir(dir) == 0); /* empty: nothing else was made beside the root */
    return 0;
}
