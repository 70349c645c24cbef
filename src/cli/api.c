/* SPDX-License-Identifier: Apache-2.0
 *
 * api.c: any call of the HTTP interface, and the event stream.
 */
#include "cli/verbs.h"
#include "base/io/proc.h"

enum { BODY_MAX = 1 << 20 };

const struct cmd_opt api_opts[] = {{"body", 'd', CMD_TEXT, "JSON",
                                    "request body; @FILE reads a file, @- standard input", NULL,
                                    offsetof(struct api_args, body)},
                                   {0}};

static int read_body(const char *arg, struct sl_buf *out, struct sl_err *err)
{
    if (arg[0] != '@') {
        sl_buf_adds(out, arg);
    } else if (!sl_streq(arg, "@-")) {
        return file_read(arg + 1, BODY_MAX, out, err);
    } else {
        char chunk[8192];
        size_t n;
        while ((n = fread(chunk, 1, sizeof chunk, stdin)) > 0)
            sl_buf_add(out, chunk, n);
    }
    return out->over ? sl_fail_at(err, SL_TOO_LARGE, "body", "the body is over 1 MiB") : 0;
}

static int api(struct cli *c, const void *opts, int argc, char **argv, struct sl_err *err)
{
    static const char *const methods[] = {"GET", "POST", "PUT", "PATCH", "DELETE"};
    const struct api_args *o = opts;
    bool known = false;
    for (size_t i = 0; i < SL_COUNT(methods); i++)
        known |= sl_streq(argv[0], methods[i]);
    if (!known)
        return sl_fail_at(err, SL_INVALID, "method",
                          "\"%s\" is no method: use GET, POST, PUT, PATCH or DELETE", argv[0]);
    if (argv[1][0] != '/')
        return sl_fail_at(err, SL_INVALID, "path", "\"%s\" must begin with /, as /v1/prices",
                          argv[1]);
    SL_AUTO_BUF struct sl_buf body = SL_BUF(BODY_MAX);
    if (o->body && read_body(o->body, &body, err) < 0)
        return -1;
    struct answer a = {0};
    int rc = cli_call(c, argv[0], argv[1], o->body ? sl_buf_str(&body) : NULL, &a, err);
    if (rc == 0 && a.text.n) {
        fwrite(a.text.p, 1, a.text.n, stdout);
        if (a.text.p[a.text.n - 1] != '\n')
            putchar('\n');
    }
    answer_free(&a);
    return rc;
}
CLI_VERB(api)

/* ---- events ---- */
const struct cmd_opt events_opts[] = {
    {"follow", 'f', CMD_FLAG, NULL, "go on with events as they happen", NULL,
     offsetof(struct events_args, follow)},
    {"after", 0, CMD_INT, "SEQ", "only events after this number; default 0", NULL,
     offsetof(struct events_args, after)},
    {"limit", 0, CMD_INT, "N", "at most so many (1..100) without --follow; default 50", NULL,
     offsetof(struct events_args, limit)},
    {0}};
static const struct column event_columns[] = {{"SEQ", "seq", COL_RIGHT},
                                              {"TIME", "time", COL_TIME},
                                              {"TYPE", "type"},
                                              {"REF", "ref"},
                                              {"ACTOR", "actor"},
                                              {"DATA", "data"},
                                              {0}};

static bool print_event(void *arg, const char *data)
{
    struct cli here = *(struct cli *)arg, *c = &here;
    struct sl_err ignored = {0};
    here.arena = (struct sl_arena){0}; /* a stream is long: what an event needs goes with it */
    JR_AUTO_DOC struct jr_doc *d = NULL;
    if (c->json || jr_open(data, strlen(data), &d, &ignored) < 0) {
        puts(data);
    } else {
        const struct jr_val *v = jr_root(d);
        for (const struct column *k = event_columns; k->title; k++)
            printf("%s%s", cli_text(c, cli_at(v, k->path), k->kind), k[1].title ? "  " : "\n");
    }
    sl_arena_free(&here.arena);
    fflush(stdout);
    return true;
}

static int events(struct cli *c, const void *opts, int argc, char **argv, struct sl_err *err)
{
    const struct events_args *o = opts;
    if (!o->follow)
        return cli_page_verb(c,
                             sl_arena_printf(&c->arena, "/v1/events?after=%lld&limit=%lld",
                                             (long long)o->after,
                                             (long long)(o->limit ? o->limit : 50)),
                             event_columns, err);
    char path[64];
    snprintf(path, sizeof path, "/v1/events?after=%lld", (long long)o->after);
    return cli_stream(c, path, print_event, c, err);
}
CLI_VERB(events)
