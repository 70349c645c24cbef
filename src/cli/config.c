/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include "base/io/conf.h"
#include "base/io/proc.h"
#include <errno.h>
#include <sys/stat.h>

struct file_conf {
    const char *url, *ca, *key, *token;
};
static const struct conf_key keys[] = {
    {"server", "url", CONF_TEXT, offsetof(struct file_conf, url), "", 0, 0,
     "address of starleased"},
    {"server", "ca", CONF_TEXT, offsetof(struct file_conf, ca), "", 0, 0,
     "PEM file trusted for that address"},
    {"server", "key", CONF_TEXT, offsetof(struct file_conf, key), "", 0, 0,
     "public key that statements must be signed with"},
    {"auth", "token", CONF_TEXT, offsetof(struct file_conf, token), "", 0, 0, "API token"},
    {0},
};

static const char *config_path(struct cli *c)
{
    if (c->g.config)
        return c->g.config;
    const char *env = getenv("STARLEASE_CONFIG");
    if (env && *env)
        return env;
    const char *xdg = getenv("XDG_CONFIG_HOME");
    if (xdg && *xdg)
        return sl_arena_printf(&c->arena, "%s/starlease/config", xdg);
    const char *home = getenv("HOME");
    return sl_arena_printf(&c->arena, "%s/.config/starlease/config", home && *home ? home : "/");
}

static const char *no_slash(struct cli *c, const char *url)
{
    size_t n = strlen(url);
    while (n && url[n - 1] == '/')
        n--;
    return sl_arena_strndup(&c->arena, url, n);
}

int cli_config_load(struct cli *c, struct sl_err *err)
{
    struct file_conf f = {"", "", "", ""};
    struct stat st;
    c->config_path = config_path(c);
    if (stat(c->config_path, &st) == 0) {
        if (st.st_mode & 077)
            return sl_fail(err, SL_INVALID, "%s can be read by others: run chmod 600 on it",
                           c->config_path);
        if (conf_load(c->config_path, keys, &f, &c->arena, err) < 0)
            return -1;
    } else if (errno != ENOENT && errno != ENOTDIR) {
        return sl_fail_errno(err, errno, "cannot read %s", c->config_path);
    }
    const char *url = getenv("STARLEASE_URL"), *token = getenv("STARLEASE_TOKEN"),
               *ca = getenv("STARLEASE_CA");
    c->url = no_slash(c, c->g.url ? c->g.url : url && *url ? url : f.url);
    c->token = sl_arena_strdup(&c->arena, token && *token ? token : f.token);
    c->ca_file = sl_arena_strdup(&c->arena, ca && *ca ? ca : f.ca);
    c->server_key = f.key;
    /* A token is for the server that gave it: never send the saved one to another address. */
    if (f.url[0] && strcmp(no_slash(c, f.url), c->url) != 0) {
        if (!token || !*token)
            c->token = "";
        if (!ca || !*ca)
            c->ca_file = "";
        c->server_key = "";
    }
    return 0;
}

static bool one_line(const char *s)
{
    return !strpbrk(s, "\r\n");
}

int cli_config_save(const struct cli *c, struct sl_err *err)
{
    if (!one_line(c->url) || !one_line(c->token) || !one_line(c->ca_file) ||
        !one_line(c->server_key))
        return sl_fail(err, SL_INVALID, "a value for %s holds a line break", c->config_path);
    const char *slash = strrchr(c->config_path, '/');
    if (slash && slash != c->config_path) {
        SL_AUTO_FREE char *dir = sl_strndup(c->config_path, (size_t)(slash - c->config_path));
        if (dir_make(dir, 0700, err) < 0)
            return -1;
    }
    SL_AUTO_BUF struct sl_buf b = SL_BUF(1 << 16);
    sl_buf_printf(&b, "# written by `starlease login`\n[server]\nurl = %s\n", c->url);
    if (c->ca_file[0])
        sl_buf_printf(&b, "ca = %s\n", c->ca_file);
    if (c->server_key[0])
        sl_buf_printf(&b, "key = %s\n", c->server_key);
    if (c->token[0])
        sl_buf_printf(&b, "\n[auth]\ntoken = %s\n", c->token);
    return file_write(c->config_path, sl_buf_str(&b), b.n, 0600, err);
}
