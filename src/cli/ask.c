/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include "base/io/proc.h"
#include <termios.h>

/* One line from f without its newline; false at the end of input. */
static bool read_line(FILE *f, char *out, size_t size)
{
    if (!fgets(out, (int)size, f))
        return false;
    out[strcspn(out, "\r\n")] = 0;
    return true;
}

int cli_confirm(struct cli *c, bool yes, const char *question, struct sl_err *err)
{
    if (yes || c->g.explain)
        return 0;
    if (!isatty(STDIN_FILENO))
        return sl_fail_at(err, SL_INVALID, "yes",
                          "%s Nobody can be asked (no terminal): repeat with --yes", question);
    char answer[16] = "";
    fprintf(stderr, "%s [y/N] ", question);
    if (read_line(stdin, answer, sizeof answer) && (answer[0] == 'y' || answer[0] == 'Y'))
        return 0;
    return sl_fail(err, SL_CONFLICT, "nothing was done");
}

static int ask_hidden(const char *prompt, char *out, size_t size, struct sl_err *err)
{
    struct termios old, quiet;
    if (!isatty(STDIN_FILENO) || tcgetattr(STDIN_FILENO, &old) < 0)
        return sl_fail_at(
            err, SL_INVALID, "password",
            "no terminal to ask on: give --password-file FILE (\"-\" is stdin) or set "
            "STARLEASE_PASSWORD");
    quiet = old;
    quiet.c_lflag &= (tcflag_t)~ECHO;
    fputs(prompt, stderr);
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &quiet);
    bool ok = read_line(stdin, out, size);
    tcsetattr(STDIN_FILENO, TCSAFLUSH, &old);
    fputc('\n', stderr);
    return ok ? 0 : sl_fail_at(err, SL_INVALID, "password", "no password was typed");
}

int cli_password(struct cli *c, const char *file, bool twice, const char **ret, struct sl_err *err)
{
    char one[512] = "", two[512] = "";
    const char *env = getenv("STARLEASE_PASSWORD");
    if (file && sl_streq(file, "-")) {
        if (!read_line(stdin, one, sizeof one))
            return sl_fail_at(err, SL_INVALID, "password", "standard input is empty");
    } else if (file) {
        SL_AUTO_BUF struct sl_buf b = SL_BUF(sizeof one - 1);
        if (file_read(file, sizeof one - 1, &b, err) < 0)
            return -1;
        snprintf(one, sizeof one, "%.*s", (int)strcspn(sl_buf_str(&b), "\r\n"), sl_buf_str(&b));
    } else if (env && *env) {
        snprintf(one, sizeof one, "%s", env);
    } else if (c->g.explain) {
        snprintf(one, sizeof one, "...");
    } else {
        if (ask_hidden("Password: ", one, sizeof one, err) < 0)
            return -1;
        if (twice && ask_hidden("Again: ", two, sizeof two, err) < 0)
            return -1;
        if (twice && strcmp(one, two) != 0)
            return sl_fail_at(err, SL_INVALID, "password", "the two passwords differ: try again");
    }
    *ret = sl_arena_strdup(&c->arena, one);
    explicit_bzero(one, sizeof one);
    explicit_bzero(two, sizeof two);
    return 0;
}
