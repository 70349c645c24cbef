/* SPDX-License-Identifier: Apache-2.0
 *
 * starlease-agent: the agent's operations from the command line. `probe` and `health` look at the
 * machine directly and need no daemon; all others go through starlease-agentd's socket. Answers are
 * JSON.
 */
#include "agent/options.h"
#include "agent/probe.h"
#include "base/io/json.h"
#include "base/io/proc.h"
#include "base/io/rpc.h"
#include "wire/agent_ops.h"

enum { CALL_MS = 3600 * 1000 };

static int fail(const struct sl_err *err)
{
    fprintf(stderr, "starlease-agent: %s\n", err->msg);
    return sl_code_info(err->code)->exit;
}

static int direct(const void *globals,
                  int (*fn)(const struct agent *, struct sl_buf *, struct sl_err *))
{
    struct agent a;
    struct sl_err err = {0};
    SL_AUTO_BUF struct sl_buf out = SL_BUF(RPC_LINE_MAX);
    if (agent_from_options(globals, &a, &err) < 0 || fn(&a, &out, &err) < 0)
        return fail(&err);
    printf("%s\n", sl_buf_str(&out));
    return 0;
}

static int probe(const void *globals, const void *opts, int argc, char **argv)
{
    return direct(globals, probe_json);
}

static int health(const void *globals, const void *opts, int argc, char **argv)
{
    return direct(globals, health_json);
}

static void show_progress(void *arg, const struct jr_val *v)
{
    fprintf(stderr, "%lld of %lld bytes, %lld files\n", (long long)jr_i64(jr_get(v, "bytes"), 0),
            (long long)jr_i64(jr_get(v, "total"), 0), (long long)jr_i64(jr_get(v, "files"), 0));
}

static int call(const void *globals, const char *request)
{
    const struct agent_options *o = globals;
    struct sl_err err = {0};
    JR_AUTO_DOC struct jr_doc *doc = NULL;
    const struct jr_val *ok;
    SL_AUTO_BUF struct sl_buf out = SL_BUF(RPC_LINE_MAX);
    if (rpc_call(o->socket ? o->socket : AGENT_SOCKET, request, CALL_MS, show_progress, NULL, &doc,
                 &ok, &err) < 0)
        return fail(&err);
    jr_write(ok, &out);
    printf("%s\n", sl_buf_str(&out));
    return 0;
}

/* {"op":..., name: value, ...}; a NULL value leaves the member out. */
static int call_with(const void *globals, const char *op, const char *const (*members)[2])
{
    SL_AUTO_BUF struct sl_buf b = SL_BUF(65536);
    struct jw w = {&b};
    jw_object(&w, NULL);
    jw_str(&w, "op", op);
    for (; (*members)[0]; members++)
        if ((*members)[1])
            jw_str(&w, (*members)[0], (*members)[1]);
    jw_end(&w);
    return call(globals, sl_buf_str(&b));
}

struct import_opts {
    const char *digest;
};
static const struct cmd_opt import_options[] = {{"digest", 0, CMD_TEXT, "sha256:HEX",
                                                 "refuse the image when it has another digest",
                                                 NULL, offsetof(struct import_opts, digest)},
                                                {0}};

static int image_import_main(const void *globals, const void *opts, int argc, char **argv)
{
    const struct import_opts *o = opts;
    SL_AUTO_FREE char *path = realpath(argv[1], NULL);
    bool registry = sl_starts(argv[1], "docker://");
    const char *const members[][2] = {{"name", argv[0]},
                                      {registry ? "reference" : "path", path ? path : argv[1]},
                                      {"digest", o->digest},
                                      {NULL, NULL}};
    return call_with(globals, AGENT_OP_IMAGE_IMPORT, members);
}

static int image_list_main(const void *globals, const void *opts, int argc, char **argv)
{
    return call(globals, "{\"op\":\"" AGENT_OP_IMAGE_LIST "\"}");
}

static int image_remove_main(const void *globals, const void *opts, int argc, char **argv)
{
    const char *const members[][2] = {{"name", argv[0]}, {NULL, NULL}};
    return call_with(globals, AGENT_OP_IMAGE_REMOVE, members);
}

static int lease_list_main(const void *globals, const void *opts, int argc, char **argv)
{
    return call(globals, "{\"op\":\"" AGENT_OP_LEASE_LIST "\"}");
}

static int lease_logs_main(const void *globals, const void *opts, int argc, char **argv)
{
    const char *const members[][2] = {{"lease", argv[0]}, {NULL, NULL}};
    return call_with(globals, AGENT_OP_LEASE_LOGS, members);
}

static int lease_stop_main(const void *globals, const void *opts, int argc, char **argv)
{
    long long epoch;
    SL_AUTO_BUF struct sl_buf b = SL_BUF(4096);
    struct jw w = {&b};
    if (!sl_parse_i64(argv[1], &epoch)) {
        fprintf(stderr, "starlease-agent: EPOCH must be a number\n");
        return 2;
    }
    jw_object(&w, NULL);
    jw_str(&w, "op", AGENT_OP_LEASE_STOP);
    jw_str(&w, "lease", argv[0]);
    jw_int(&w, "epoch", epoch);
    jw_int(&w, "grace_s", 10);
    jw_end(&w);
    return call(globals, sl_buf_str(&b));
}

static int volume_remove_main(const void *globals, const void *opts, int argc, char **argv)
{
    const char *const members[][2] = {{"volume", argv[0]}, {NULL, NULL}};
    return call_with(globals, AGENT_OP_VOLUME_REMOVE, members);
}

/* Any operation as JSON, from a file or standard input: what engines send. */
static int call_main(const void *globals, const void *opts, int argc, char **argv)
{
    SL_AUTO_BUF struct sl_buf b = SL_BUF(RPC_LINE_MAX), line = SL_BUF(RPC_LINE_MAX);
    struct sl_err err = {0};
    JR_AUTO_DOC struct jr_doc *doc = NULL;
    if (file_read(argv[0], RPC_LINE_MAX, &b, &err) < 0 ||
        jr_open(sl_buf_str(&b), b.n, &doc, &err) < 0)
        return fail(&err);
    jr_write(jr_root(doc), &line);
    return call(globals, sl_buf_str(&line));
}

static const struct cmd_verb verbs[] = {
    {"probe", "", "list GPUs, links and health of this machine", NULL, 0, probe, 0, 0},
    {"health", "", "say whether this machine is fit for leases", NULL, 0, health, 0, 0},
    {"image import", "NAME PATH|REFERENCE",
     "import a root tar file, an OCI layout or an image of a registry", import_options,
     sizeof(struct import_opts), image_import_main, 2, 2},
    {"image list", "", "list imported images", NULL, 0, image_list_main, 0, 0},
    {"image remove", "NAME", "delete an image", NULL, 0, image_remove_main, 1, 1},
    {"lease list", "", "list leases on this node", NULL, 0, lease_list_main, 0, 0},
    {"lease logs", "LEASE", "show the console log of a lease", NULL, 0, lease_logs_main, 1, 1},
    {"lease stop", "LEASE EPOCH", "stop a lease and undo everything of it", NULL, 0,
     lease_stop_main, 2, 2},
    {"volume remove", "VOLUME", "delete a system volume", NULL, 0, volume_remove_main, 1, 1},
    {"call", "FILE", "send one operation, a JSON object in FILE", NULL, 0, call_main, 1, 1},
    {0}};

int main(int argc, char **argv)
{
    static const struct cmd_program program = {
        "starlease-agent",  "operations of the node agent", verbs,
        agent_option_table, sizeof(struct agent_options),   NULL};
    return cmd_main(&program, argc, argv);
}
