/* SPDX-License-Identifier: Apache-2.0 */
#include "base/io/db_wal.h"
#include "base/core/err.h"
#include "base/core/mem.h"
#include <pthread.h>
#include <sqlite3.h>
#include <stdint.h>
#include <string.h>

enum {
    GATHER_MAX = 1 << 20,
    WRITE_MAX = 64 << 10 /* SQLite's own file system takes less than 128 KiB at once */
};

/* The log as SQLite sees it; the default file system's own object follows in memory. */
struct wal {
    sqlite3_file base;
    sqlite3_file *real;
    unsigned char *bytes; /* written next, at offset `at` */
    sqlite3_int64 at;
    int n;
};

static struct wal *wal_of(sqlite3_file *f)
{
    return (struct wal *)f;
}

static int flush(struct wal *w)
{
    int rc = SQLITE_OK, n = w->n;
    w->n = 0; /* after an error too: SQLite rolls the commit back */
    for (int done = 0, piece; rc == SQLITE_OK && done < n; done += piece) {
        piece = n - done < WRITE_MAX ? n - done : WRITE_MAX;
        rc = w->real->pMethods->xWrite(w->real, w->bytes + done, piece, w->at + done);
    }
    return rc;
}

static int wal_write(sqlite3_file *f, const void *p, int n, sqlite3_int64 at)
{
    struct wal *w = wal_of(f);
    if (w->n && (at != w->at + w->n || n > GATHER_MAX - w->n)) {
        int rc = flush(w);
        if (rc != SQLITE_OK)
            return rc;
    }
    SL_ASSERT(n <= GATHER_MAX); /* a page has at most 64 KiB */
    if (w->n == 0)
        w->at = at;
    memcpy(w->bytes + w->n, p, (size_t)n);
    w->n += n;
    return SQLITE_OK;
}

/* Everything else sees a log without anything held back. */
#define FLUSHED(call)                                                                              \
    struct wal *w = wal_of(f);                                                                     \
    int rc = flush(w);                                                                             \
    return rc == SQLITE_OK ? w->real->pMethods->call : rc

static int wal_read(sqlite3_file *f, void *p, int n, sqlite3_int64 at)
{
    FLUSHED(xRead(w->real, p, n, at));
}

static int wal_truncate(sqlite3_file *f, sqlite3_int64 size)
{
    FLUSHED(xTruncate(w->real, size));
}

static int wal_sync(sqlite3_file *f, int flags)
{
    FLUSHED(xSync(w->real, flags));
}

static int wal_size(sqlite3_file *f, sqlite3_int64 *ret)
{
    FLUSHED(xFileSize(w->real, ret));
}

static int wal_lock(sqlite3_file *f, int kind)
{
    FLUSHED(xLock(w->real, kind));
}

static int wal_unlock(sqlite3_file *f, int kind)
{
    FLUSHED(xUnlock(w->real, kind));
}

static int wal_reserved(sqlite3_file *f, int *ret)
{
    FLUSHED(xCheckReservedLock(w->real, ret));
}

static int wal_control(sqlite3_file *f, int op, void *arg)
{
    struct wal *w = wal_of(f);
    return w->real->pMethods->xFileControl(w->real, op, arg);
}

static int wal_sector(sqlite3_file *f)
{
    struct wal *w = wal_of(f);
    return w->real->pMethods->xSectorSize(w->real);
}

static int wal_device(sqlite3_file *f)
{
    struct wal *w = wal_of(f);
    return w->real->pMethods->xDeviceCharacteristics(w->real);
}

static int wal_close(sqlite3_file *f)
{
    struct wal *w = wal_of(f);
    int rc = flush(w), closed = w->real->pMethods->xClose(w->real);
    free(w->bytes);
    w->bytes = NULL;
    return rc != SQLITE_OK ? rc : closed;
}

/* Version 1: a log is neither mapped nor shared memory. */
static const sqlite3_io_methods wal_methods = {
    .iVersion = 1,
    .xClose = wal_close,
    .xRead = wal_read,
    .xWrite = wal_write,
    .xTruncate = wal_truncate,
    .xSync = wal_sync,
    .xFileSize = wal_size,
    .xLock = wal_lock,
    .xUnlock = wal_unlock,
    .xCheckReservedLock = wal_reserved,
    .xFileControl = wal_control,
    .xSectorSize = wal_sector,
    .xDeviceCharacteristics = wal_device,
};

static int vfs_open(sqlite3_vfs *v, const char *name, sqlite3_file *f, int flags, int *ret_flags)
{
    sqlite3_vfs *below = v->pAppData;
    struct wal *w = wal_of(f);
    if (!(flags & SQLITE_OPEN_WAL)) /* the file is the one below, in the same memory */
        return below->xOpen(below, name, f, flags, ret_flags);
    *w = (struct wal){.real = (sqlite3_file *)(w + 1)};
    int rc = below->xOpen(below, name, w->real, flags, ret_flags);
    if (rc != SQLITE_OK)
        return rc;
    w->bytes = sl_alloc(GATHER_MAX);
    w->base.pMethods = &wal_methods;
    return SQLITE_OK;
}

static void register_once(void)
{
    static sqlite3_vfs vfs;
    sqlite3_vfs *below = sqlite3_vfs_find(NULL);
    SL_ASSERT(below != NULL);
    vfs = *below;
    vfs.pNext = NULL;
    vfs.zName = DB_WAL_VFS;
    vfs.pAppData = below;
    vfs.szOsFile = (int)sizeof(struct wal) + below->szOsFile;
    vfs.xOpen = vfs_open;
    SL_ASSERT(sqlite3_vfs_register(&vfs, 0) == SQLITE_OK);
}

void db_wal_register(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, register_once);
}
