/* SPDX-License-Identifier: Apache-2.0 */
#include "base/io/db_wal.h"
#include "base/core/err.h"
#include "base/core/mem.h"
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

enum { GATHER_MAX = 1 << 20 };

/* The log as SQLite sees it; the default file system's own object follows in memory. */
struct db_wal {
    sqlite3_file base;
    sqlite3_file *real;
    int fd;               /* the same file again: for whole writes, and for the thread that syncs */
    unsigned char *bytes; /* written next, at offset `at` */
    sqlite3_int64 at;
    int n;
    bool defer; /* a commit's sync is left to db_wal_sync */
    bool anew;  /* the log's header was written since it was synced here */
    atomic_llong written, syncs;
};

static struct db_wal *wal_of(sqlite3_file *f)
{
    return (struct db_wal *)f;
}

/* Not through the layer below, which writes 128 KiB at most. */
static int flush(struct db_wal *w)
{
    unsigned char *p = w->bytes, *end = p + w->n;
    w->n = 0; /* after an error too: SQLite rolls the commit back */
    while (p < end) {
        ssize_t n = pwrite(w->fd, p, (size_t)(end - p), w->at + (p - w->bytes));
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return n < 0 && errno != ENOSPC && errno != EDQUOT ? SQLITE_IOERR_WRITE : SQLITE_FULL;
        p += n;
        atomic_fetch_add(&w->written, n);
    }
    return SQLITE_OK;
}

static int wal_write(sqlite3_file *f, const void *p, int n, sqlite3_int64 at)
{
    struct db_wal *w = wal_of(f);
    if (at == 0)
        w->anew = true;
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
    struct db_wal *w = wal_of(f);                                                                  \
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

/* The header of a log that starts anew is synced at once even so: SQLite needs it on the disk
 * before the first frame, or old frames might pass for new ones. */
static int wal_sync(sqlite3_file *f, int flags)
{
    struct db_wal *w = wal_of(f);
    int rc = flush(w);
    if (rc != SQLITE_OK || (w->defer && !w->anew))
        return rc;
    w->anew = false;
    atomic_fetch_add(&w->syncs, 1);
    return w->real->pMethods->xSync(w->real, flags);
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
    struct db_wal *w = wal_of(f);
    return w->real->pMethods->xFileControl(w->real, op, arg);
}

static int wal_sector(sqlite3_file *f)
{
    struct db_wal *w = wal_of(f);
    return w->real->pMethods->xSectorSize(w->real);
}

static int wal_device(sqlite3_file *f)
{
    struct db_wal *w = wal_of(f);
    return w->real->pMethods->xDeviceCharacteristics(w->real);
}

static int wal_close(sqlite3_file *f)
{
    struct db_wal *w = wal_of(f);
    int rc = flush(w), closed = w->real->pMethods->xClose(w->real);
    close(w->fd);
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
    struct db_wal *w = wal_of(f);
    if (!(flags & SQLITE_OPEN_WAL)) /* the file is the one below, in the same memory */
        return below->xOpen(below, name, f, flags, ret_flags);
    *w = (struct db_wal){.real = (sqlite3_file *)(w + 1)};
    int rc = below->xOpen(below, name, w->real, flags, ret_flags);
    if (rc != SQLITE_OK)
        return rc;
    w->fd = open(name, O_RDWR | O_CLOEXEC);
    if (w->fd < 0) {
        w->real->pMethods->xClose(w->real);
        return SQLITE_CANTOPEN;
    }
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
    vfs.szOsFile = (int)sizeof(struct db_wal) + below->szOsFile;
    vfs.xOpen = vfs_open;
    SL_ASSERT(sqlite3_vfs_register(&vfs, 0) == SQLITE_OK);
}

void db_wal_register(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, register_once);
}

struct db_wal *db_wal_of(sqlite3 *h)
{
    sqlite3_file *f = NULL;
    int rc = sqlite3_file_control(h, "main", SQLITE_FCNTL_JOURNAL_POINTER, &f);
    SL_ASSERT(rc == SQLITE_OK && f && f->pMethods == &wal_methods);
    return wal_of(f);
}

void db_wal_defer(struct db_wal *w, bool on)
{
    w->defer = on;
}

int db_wal_sync(struct db_wal *w)
{
    atomic_fetch_add(&w->syncs, 1);
    return fdatasync(w->fd);
}

void db_wal_stats(struct db_wal *w, int64_t *ret_bytes, int64_t *ret_syncs)
{
    *ret_bytes = atomic_load(&w->written);
    *ret_syncs = atomic_load(&w->syncs);
}
