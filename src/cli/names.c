/* SPDX-License-Identifier: Apache-2.0
 *
 * names.c: from what a person types to what the server or the file system knows.
 */
#include "cli/cli.h"
#include "base/core/id.h"
#include <limits.h>

int cli_find_id(struct cli *c, const char *list_path, const char *prefix, const char *name_member,
                const char *what, const char *id_or_name, const char **ret_id, struct sl_err *err)
{
    *ret_id = id_or_name;
    if (id_ok(id_or_name, prefix))
        return 0;
    struct answer a = {0};
    int rc = cli_list(c, list_path, &a, err);
    if (rc) {
        answer_free(&a);
        if (rc == CLI_EXPLAINED)
            *ret_id = sl_arena_printf(&c->arena, "(id of %s)", id_or_name);
        return rc == CLI_EXPLAINED ? 0 : rc;
    }
    const struct jr_val *items = jr_get(a.root, "items");
    const char *found = NULL;
    for (size_t i = 0; i < jr_len(items); i++) {
        const struct jr_val *v = jr_at(items, i);
        if (!sl_streq(jr_text(jr_get(v, name_member), ""), id_or_name))
            continue;
        const char *state = jr_text(jr_get(v, "state"), "");
        bool gone =
            sl_streq(state, "released") || sl_streq(state, "failed") || sl_streq(state, "deleted");
        if (!found || !gone) /* the living one, when a name was used again */
            found = jr_text(jr_get(v, "id"), NULL);
    }
    if (found)
        *ret_id = sl_arena_strdup(&c->arena, found);
    answer_free(&a);
    return found ? 0
                 : sl_fail_at(err, SL_NOT_FOUND, what, "no %s is called \"%s\": list them first",
                              what, id_or_name);
}

int cli_lease_id(struct cli *c, const char *id_or_name, const char **ret_id, struct sl_err *err)
{
    return cli_find_id(c, "/v1/leases", "lea", "name", "lease", id_or_name, ret_id, err);
}

int cli_data_file(struct cli *c, const char *name, const char **ret_path, struct sl_err *err)
{
    static const char *const beside[] = {"..", "../share/starlease"};
    char exe[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", exe, sizeof exe - 1);
    exe[n > 0 ? n : 0] = 0;
    char *slash = strrchr(exe, '/');
    for (size_t i = 0; slash && i < SL_COUNT(beside); i++) {
        const char *p =
            sl_arena_printf(&c->arena, "%.*s/%s/%s", (int)(slash - exe), exe, beside[i], name);
        if (access(p, R_OK) == 0) {
            *ret_path = p;
            return 0;
        }
    }
    *ret_path = sl_arena_printf(&c->arena, "/usr/share/starlease/%s", name);
    if (access(*ret_path, R_OK) == 0)
        return 0;
    return sl_fail_at(err, SL_NOT_FOUND, "file", "%s is not installed: name a file with --file",
                      name);
}
