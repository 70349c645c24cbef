/* SPDX-License-Identifier: Apache-2.0 */
#include "port/run.h"
#include "port/build_files.h"
#include "port/diff.h"
#include "port/out.h"
#include "port/stats.h"
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/stat.h>

struct job {
    const struct file_item *file;
    struct sl_buf out; /* for stdout */
    FILE *log;         /* for stderr; a memory stream, opened when there is something to say */
    char *log_text;
    size_t log_n;
    struct port_stats stats;
    bool failed, done;
};

struct run {
    const struct run_options *o;
    struct job *jobs;
    size_t n;
    atomic_size_t next;
    pthread_mutex_t lock; /* guards shown, failed, total and the two streams */
    size_t shown;         /* jobs whose output is out */
    bool failed, progress;
    struct port_stats total;
    FILE *csv;
};

char *run_renamed(const char *path)
{
    size_t n = strlen(path);
    if (n > 3 && strcmp(path + n - 3, ".cu") == 0)
        return sl_asprintf("%.*s.hip", (int)(n - 3), path);
    if (n > 4 && strcmp(path + n - 4, ".cuh") == 0)
        return sl_asprintf("%.*s.hip.h", (int)(n - 4), path);
    return sl_strdup(path);
}

static FILE *log_of(struct job *j)
{
    if (!j->log)
        j->log = open_memstream(&j->log_text, &j->log_n);
    SL_ASSERT(j->log);
    return j->log;
}

static int log_error(struct job *j, const struct sl_err *err)
{
    fprintf(log_of(j), "starport: %s\n", err->msg);
    return -1;
}

/* Places that make the result untrustworthy, as errors. */
static int check_open(struct source *s, const struct port_result *r, struct job *j)
{
    for (size_t i = 0; i < r->n_notes; i++) {
        const struct port_note *n = &r->notes[i];
        unsigned line, col;
        if (n->what != PORT_OPEN_LAUNCH && n->what != PORT_OPEN_COMMENT &&
            n->what != PORT_OPEN_STRING)
            continue;
        source_where(s, n->at, &line, &col);
        fprintf(log_of(j), "starport: %s:%u:%u: %s; the file is left as it is\n", s->path, line,
                col, port_what_text(n->what));
    }
    return -1;
}

static int write_inplace(const struct run_options *o, struct source *s, const char *path,
                         const struct sl_buf *text, struct sl_err *err)
{
    SL_AUTO_FREE char *backup = sl_asprintf("%s.prehip", path);
    SL_AUTO_FREE char *to = o->rename ? run_renamed(path) : sl_strdup(path);
    bool moved = strcmp(to, path) != 0;
    if (!s->n_edits && !moved && strcmp(s->path, path) == 0)
        return 0;
    if (!o->no_backup && out_backup(path, backup, s->p, s->n, err) < 0)
        return -1;
    if (out_write(to, sl_buf_str(text), text->n, err) < 0)
        return -1;
    if (moved && unlink(path) < 0)
        return sl_fail(err, SL_FORBIDDEN, "%s: cannot be removed after %s was written", path, to);
    return 0;
}

static int write_tree(const struct run_options *o, const struct file_item *f,
                      const struct sl_buf *text, struct sl_err *err)
{
    SL_AUTO_FREE char *rel = o->rename ? run_renamed(f->rel) : sl_strdup(f->rel);
    SL_AUTO_FREE char *to = sl_asprintf("%s/%s", o->out_dir, rel);
    if (out_same_file(f->path, to))
        return sl_fail(err, SL_INVALID,
                       "%s: the output would be written over its input; say --inplace", f->path);
    return out_parents(to, err) < 0 ? -1 : out_write(to, sl_buf_str(text), text->n, err);
}

/* Puts a translated file where the options say. */
static int deliver(const struct run_options *o, struct job *j, struct source *s, struct sl_err *err)
{
    if (o->diff) {
        SL_AUTO_FREE char *to = o->rename ? run_renamed(j->file->path) : sl_strdup(j->file->path);
        diff_unified(s, to, &j->out);
    }
    if (o->no_output || (o->diff && !o->inplace && !o->out_dir && !o->out))
        return 0;
    bool to_stdout = !o->inplace && !o->out_dir && !o->out;
    SL_AUTO_BUF struct sl_buf text = SL_BUF(2 * LEX_MAX_BYTES);
    struct sl_buf *b = to_stdout ? &j->out : &text;
    sl_buf_reserve(b, s->n + s->n / 8 + 64);
    source_render(s, b);
    if (b->over)
        return sl_fail(err, SL_TOO_LARGE, "%s: the result is over 2 GiB", s->path);
    if (to_stdout)
        return 0;
    if (o->inplace)
        return write_inplace(o, s, j->file->path, b, err);
    if (o->out_dir)
        return write_tree(o, j->file, b, err);
    if (out_same_file(j->file->path, o->out))
        return sl_fail(err, SL_INVALID,
                       "%s: the output would be written over its input; say --inplace", o->out);
    return out_write(o->out, sl_buf_str(b), b->n, err);
}

/* CMake files, Makefiles, scripts and setup.py in the tree go along. */
static int translate_build_file(const struct run_options *o, struct job *j, struct source *s,
                                struct sl_err *err)
{
    struct findings f = {0};
    build_scan(build_kind_of(j->file->path), s, o->hazards, &f);
    source_settle(s);
    findings_free(&f);
    int rc = deliver(o, j, s, err);
    if (rc < 0)
        log_error(j, err);
    return rc;
}

static int translate(const struct run_options *o, struct job *j, struct source *s,
                     struct sl_err *err)
{
    if (o->hazards && build_kind_of(j->file->path) != BUILD_NONE)
        return translate_build_file(o, j, s, err);
    struct port_result r = {.by_name = o->stats || o->csv};
    int rc;
    port_translate(s, &o->port, &r);
    if (!o->quiet && r.n_notes > r.n_launches)
        stats_warnings(log_of(j), s, &r, o->all_warnings);
    if (o->stats || o->csv)
        stats_of(s, &r, o->port.roc, &j->stats);
    rc = r.open && !o->tolerant ? check_open(s, &r, j) : deliver(o, j, s, err);
    if (rc < 0 && err->msg[0])
        log_error(j, err);
    port_result_free(&r);
    return rc;
}

static void process(struct run *run, struct job *j)
{
    const struct run_options *o = run->o;
    struct sl_err err = {0};
    struct source s;
    struct stat st;
    SL_AUTO_FREE char *prehip = o->inplace ? sl_asprintf("%s.prehip", j->file->path) : NULL;
    const char *path = prehip && stat(prehip, &st) == 0 ? prehip : j->file->path;
    j->out = SL_BUF(2 * LEX_MAX_BYTES);
    if (source_read(&s, path, &err) < 0) {
        log_error(j, &err);
        j->failed = true;
    } else {
        j->failed = translate(o, j, &s, &err) < 0;
        source_free(&s);
    }
    if (j->log)
        fclose(j->log);
}

/* Shows what is finished, in order. Called with the lock held. */
static void show(struct run *run)
{
    const struct run_options *o = run->o;
    for (; run->shown < run->n && run->jobs[run->shown].done; run->shown++) {
        struct job *j = &run->jobs[run->shown];
        if (j->log)
            fwrite(j->log_text, 1, j->log_n, stderr);
        fwrite(sl_buf_str(&j->out), 1, j->out.n, stdout);
        if (o->stats && j->stats.lines)
            stats_print(stderr, j->file->path, &j->stats, o->port.roc);
        if (run->csv)
            stats_print_csv(run->csv, j->file->path, &j->stats, o->port.roc);
        stats_add(&run->total, &j->stats);
        run->failed |= j->failed;
        sl_buf_free(&j->out);
        free(j->log_text);
        stats_free(&j->stats);
    }
    if (run->progress)
        fprintf(stderr, "\r%zu of %zu files%s", run->shown, run->n,
                run->shown == run->n ? "\n" : "");
}

static void *worker(void *arg)
{
    struct run *run = arg;
    for (size_t i; (i = atomic_fetch_add(&run->next, 1)) < run->n;) {
        process(run, &run->jobs[i]);
        pthread_mutex_lock(&run->lock);
        run->jobs[i].done = true;
        show(run);
        pthread_mutex_unlock(&run->lock);
    }
    return NULL;
}

static size_t threads_for(const struct run_options *o, size_t files)
{
    enum { THREADS_MAX = 256 };
    long cores = o->jobs > 0 ? o->jobs : sysconf(_SC_NPROCESSORS_ONLN);
    size_t n = cores < 1 ? 1 : cores > THREADS_MAX ? THREADS_MAX : (size_t)cores;
    return n < files ? n : files;
}

static void run_threads(struct run *run)
{
    size_t n = threads_for(run->o, run->n), started = 0;
    pthread_t *t = sl_alloc((n + 1) * sizeof *t);
    while (started + 1 < n && pthread_create(&t[started], NULL, worker, run) == 0)
        started++;
    worker(run);
    for (size_t i = 0; i < started; i++)
        pthread_join(t[i], NULL);
    free(t);
}

int run_files(const struct run_options *o, const struct file_list *files)
{
    struct run run = {.o = o, .n = files->n, .lock = PTHREAD_MUTEX_INITIALIZER};
    /* Buffers of one file serve the next: giving them back to the kernel costs more than the work.
     */
    mallopt(M_MMAP_THRESHOLD, 64 << 20);
    mallopt(M_TRIM_THRESHOLD, 256 << 20);
    run.progress = files->n > 8 && isatty(2) && (o->inplace || o->out_dir);
    if (o->csv && !(run.csv = fopen(o->csv, "we"))) {
        fprintf(stderr, "starport: %s: cannot be written\n", o->csv);
        return RUN_INPUT;
    }
    run.jobs = sl_alloc((run.n + 1) * sizeof *run.jobs);
    for (size_t i = 0; i < run.n; i++)
        run.jobs[i].file = &files->v[i];
    run_threads(&run);
    if (o->stats && run.n > 1)
        stats_print(stderr, "GLOBAL", &run.total, o->port.roc);
    if (run.csv && run.n > 1)
        stats_print_csv(run.csv, "GLOBAL", &run.total, o->port.roc);
    bool bad = fflush(stdout) != 0 || ferror(stdout);
    if (bad)
        fprintf(stderr, "starport: standard output cannot be written\n");
    if (run.csv)
        bad |= fclose(run.csv) != 0;
    stats_free(&run.total);
    free(run.jobs);
    return run.failed || bad ? RUN_INPUT : RUN_OK;
}
