/* SPDX-License-Identifier: Apache-2.0 */
#include "server/record.h"
#include "server/event.h"
#include "server/lease.h"
#include "server/page.h"
#include "wire/bench.h"
#include <stdio.h>

const struct jr_field record_fields[] = {
    {"record", JR_K_RAW, JR_REQUIRED, offsetof(struct record_want, record),
     .doc = "the member \"record\" of a record file (`starlease bench run`)"},
    {0}};

static const char sql_same[] = "SELECT id FROM bench_record WHERE lease_id = ?1 AND sha256 = ?2";
static const char sql_count[] = "SELECT COUNT(*) FROM bench_record WHERE lease_id = ?1";
static const char sql_add[] =
    "INSERT INTO bench_record(id, lease_id, account_id, sha256, suite, unit, median, low, high, "
    "samples, checksum, body, created_us) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, "
    "?12, ?13)";
static const char sql_list[] =
    "SELECT id, lease_id, suite, unit, median, low, high, samples, checksum, created_us FROM "
    "bench_record WHERE lease_id = ?1 AND id > ?2 ORDER BY id LIMIT ?3";
static const char sql_body[] =
    "SELECT body FROM bench_record WHERE id = ?1 AND (?2 = '' OR account_id = ?2)";
static const char sql_metric[] =
    "UPDATE lease SET metric = ?2, metric_us = ?3 WHERE id = ?1 AND metric = ''";

static const char *owner(const struct req *r)
{
    return r->caller.role == ROLE_OPERATOR ? NULL : r->caller.account_id;
}

/* A record as record_prepare left it. */
struct given {
    struct bench_record b;
    const char *canonical;
};

static int find_lease(struct db_c *c, void *arg, struct sl_err *err)
{
    struct req *r = arg;
    struct lease l;
    return lease_get(c, owner(r), r->path[0], r->arena, &l, err);
}

/* Reading and resampling take their time: not in the writer's transaction. */
int record_prepare(struct req *r, struct sl_err *err)
{
    const struct record_want *want = r->body;
    struct given *g = sl_arena_alloc(r->arena, sizeof *g);
    SL_AUTO_FREE char *text = sl_asprintf("{\"record\":%s}", want->record);
    SL_AUTO_BUF struct sl_buf canonical = SL_BUF(BENCH_FILE_MAX);
    if (db_read(r->s->db, find_lease, r, err) < 0)
        return -1; /* a stranger learns nothing, not even about his record */
    int rc = bench_read(text, strlen(text), r->arena, &g->b, err);
    if (rc == 0)
        rc = bench_verify(&g->b, NULL, err);
    if (rc < 0 && err->code == SL_INTEGRITY) /* the caller's record is wrong, not our data */
        err->code = SL_INVALID;
    if (rc == 0)
        rc = jr_canonical(g->b.record, &canonical, err);
    if (rc == 0) {
        g->canonical = sl_arena_strdup(r->arena, sl_buf_str(&canonical));
        g->b.suite = sl_arena_strdup(r->arena, g->b.suite);
        g->b.unit = sl_arena_strdup(r->arena, g->b.unit);
        g->b.nonce = sl_arena_strdup(r->arena, g->b.nonce);
        r->prepared = g;
    }
    bench_close(&g->b);
    return rc;
}

/* What the control plane itself knows of the lease. */
static void lease_facts(const struct lease *l, struct sl_buf *out)
{
    struct jw w = {out};
    jw_object(&w, NULL);
    jw_str(&w, "id", l->id);
    jw_str(&w, "nonce", l->nonce);
    jw_str(&w, "model", l->model);
    jw_int(&w, "gpus", l->gpus);
    jw_str(&w, "node", l->node_name);
    jw_str(&w, "image", l->image);
    jw_bool(&w, "emulated", l->emulated);
    jw_int(&w, "created_us", l->created_us);
    jw_int(&w, "ready_us", l->ready_us);
    jw_end(&w);
}

/* The file: record, its hash, the facts, and the signature over hash, facts and time. */
static int sign_file(struct server *s, const struct given *g, const struct lease *l, int64_t now,
                     struct sl_buf *out, struct sl_err *err)
{
    SL_AUTO_BUF struct sl_buf facts = SL_BUF(16 << 10), canonical = SL_BUF(16 << 10),
                              covered = SL_BUF(32 << 10);
    JR_AUTO_DOC struct jr_doc *doc = NULL;
    char signature[SIGN_HEX];
    lease_facts(l, &facts);
    if (jr_open(sl_buf_str(&facts), facts.n, &doc, err) < 0 ||
        jr_canonical(jr_root(doc), &canonical, err) < 0)
        return -1;
    sl_buf_printf(&covered, "{\"lease\":%s,\"received_us\":%lld,\"sha256\":\"%s\"}",
                  sl_buf_str(&canonical), (long long)now, g->b.sha256);
    sign_make(s->sign_secret, sl_buf_str(&covered), covered.n, signature);
    struct jw w = {out};
    jw_object(&w, NULL);
    jw_raw(&w, "record", g->canonical);
    jw_str(&w, "sha256", g->b.sha256);
    jw_raw(&w, "lease", sl_buf_str(&canonical));
    jw_int(&w, "received_us", now);
    jw_str(&w, "key", s->sign_public);
    jw_str(&w, "signature", signature);
    jw_end(&w);
    return out->over
               ? sl_fail_at(err, SL_TOO_LARGE, "record", "record: is over %d bytes", BENCH_FILE_MAX)
               : 0;
}

/* A first result that repeats itself is the lease's metric. */
static int first_metric(struct db_c *c, const struct bench_record *b, const char *lease,
                        int64_t now, struct sl_err *err)
{
    SL_AUTO_BUF struct sl_buf m = SL_BUF(2048);
    struct jw w = {&m};
    if (!b->reproducible)
        return 0;
    jw_object(&w, NULL);
    jw_str(&w, "name", b->suite);
    jw_str(&w, "value", b->median_text);
    jw_str(&w, "sha256", b->checksum);
    jw_time(&w, "time", now);
    jw_end(&w);
    return db_exec(c, err, sql_metric, "tti", lease, sl_buf_str(&m), now);
}

static int check(struct db_c *c, const struct bench_record *b, const struct lease *l,
                 struct sl_err *err)
{
    int64_t n;
    if (l->ready_us == 0)
        return sl_fail_at(
            err, SL_CONFLICT, "state",
            "instance %s has not run since it was last started; a record belongs to a "
            "running or stopped instance",
            l->name);
    if (!sl_streq(b->nonce, l->nonce))
        return sl_fail_at(
            err, SL_CONFLICT, "nonce",
            "nonce: is not the one of instance %s; run the benchmark in it and hand in "
            "that record",
            l->name);
    if (strlen(b->suite) > 63 || strlen(b->unit) > 31)
        return sl_fail_at(err, SL_INVALID, "suite", "suite or unit: is longer than 63 or 31 bytes");
    if (db_value(c, 0, &n, err, sql_count, "t", l->id) < 0)
        return -1;
    return n < RECORDS_PER_LEASE ? 0
                                 : sl_fail(err, SL_QUOTA, "records: instance %s has %d, the most",
                                           l->name, RECORDS_PER_LEASE);
}

static int store(struct db_c *c, struct server *s, const struct given *g, const struct lease *l,
                 const char *actor, struct sl_buf *file, char id[ID_TEXT], struct sl_err *err)
{
    char data[256];
    const struct bench_record *b = &g->b;
    int64_t now = env_now(s->env);
    env_id(s->env, "rec", id);
    if (sign_file(s, g, l, now, file, err) < 0 ||
        db_exec(c, err, sql_add, "tttttttttitti", id, l->id, l->account_id, b->sha256, b->suite,
                b->unit, b->median_text, b->low_text, b->high_text, (int64_t)b->n, b->checksum,
                sl_buf_str(file), now) < 0 ||
        first_metric(c, b, l->id, now, err) < 0)
        return -1;
    (void)snprintf(data, sizeof data, "{\"record\":\"%s\",\"sha256\":\"%s\"}", id, b->sha256);
    return event_add(c, s, l->account_id, "lease", l->id, "lease.record", actor, data, err);
}

static int hand_in(struct db_c *c, struct req *r, struct reply *out, const struct lease *l,
                   const struct given *g, struct sl_err *err)
{
    char id[ID_TEXT] = "";
    const struct bench_record *b = &g->b;
    struct db_q q;
    SL_AUTO_BUF struct sl_buf file = SL_BUF(BENCH_FILE_MAX);
    int rc = db_row(c, &q, err, sql_same, "tt", l->id, b->sha256); /* the same again: as before */
    if (rc > 0)
        (void)snprintf(id, sizeof id, "%s", db_text(&q, 0));
    db_done(&q);
    if (rc < 0)
        return -1;
    if (rc > 0) {
        if (db_row(c, &q, err, sql_body, "tt", id, "") < 0)
            return -1;
        sl_buf_adds(&file, db_text(&q, 0));
        db_done(&q);
    } else if (check(c, b, l, err) < 0 ||
               store(c, r->s, g, l, r->caller.account_id, &file, id, err) < 0) {
        return -1;
    }
    out->status = 201;
    (void)snprintf(out->location, sizeof out->location, "/v1/records/%s", id);
    jw_object(&out->json, NULL);
    jw_str(&out->json, "id", id);
    jw_raw(&out->json, "file", sl_buf_str(&file));
    jw_end(&out->json);
    return 0;
}

int record_create(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    struct lease l;
    if (lease_get(c, owner(r), r->path[0], r->arena, &l, err) < 0)
        return -1;
    return hand_in(c, r, out, &l, r->prepared, err);
}

int record_list(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    struct lease l;
    struct page p;
    struct db_q q;
    if (lease_get(c, owner(r), r->path[0], r->arena, &l, err) < 0 ||
        page_begin(r, out, &p, err) < 0)
        return -1;
    int rc = db_query(c, &q, err, sql_list, "tti", l.id, p.cursor, p.limit + 1);
    while (rc >= 0 && (rc = db_next(&q, err)) > 0 && page_take(&p, db_text(&q, 0))) {
        struct jw *w = &out->json;
        jw_object(w, NULL);
        jw_str(w, "id", db_text(&q, 0));
        jw_str(w, "lease", db_text(&q, 1));
        jw_str(w, "suite", db_text(&q, 2));
        jw_str(w, "unit", db_text(&q, 3));
        jw_str(w, "median", db_text(&q, 4));
        jw_str(w, "low", db_text(&q, 5));
        jw_str(w, "high", db_text(&q, 6));
        jw_int(w, "samples", db_int(&q, 7));
        jw_str(w, "checksum", db_text(&q, 8));
        jw_bool(w, "emulated", l.emulated);
        jw_time(w, "created", db_int(&q, 9));
        jw_end(w);
    }
    db_done(&q);
    page_end(out, &p);
    return rc < 0 ? -1 : 0;
}

int record_show(struct db_c *c, struct req *r, struct reply *out, struct sl_err *err)
{
    struct db_q q;
    const char *who = owner(r);
    int rc = db_row(c, &q, err, sql_body, "tt", r->path[0], who ? who : "");
    if (rc > 0) {
        jw_object(&out->json, NULL);
        jw_str(&out->json, "id", r->path[0]);
        jw_raw(&out->json, "file", db_text(&q, 0));
        jw_end(&out->json);
    }
    db_done(&q);
    if (rc == 0)
        return sl_fail_at(err, SL_NOT_FOUND, "id", "no record %.60s exists; check the id",
                          r->path[0]);
    return rc < 0 ? -1 : 0;
}
