/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd.h"
#include "buf.h"
#include "err.h"
#include "mem.h"
#include "version.h"
#include <stdlib.h>
#include <string.h>

struct parse {
    const struct cmd_program *prog;
    const struct cmd_verb *verb; /* NULL until known */
    void *globals, *opts;
    int argc;
    char **argv; /* positionals */
    bool help, done;
};

static int usage(const struct cmd_program *prog, const char *what, const char *value)
{
    fprintf(stderr, "%s: %s%s%s; see `%s --help`\n", prog->name, what, *value ? ": " : "", value,
            prog->name);
    return 2;
}

static const struct cmd_opt *opt_find(const struct cmd_opt *o, const char *name, size_t n,
                                      char letter)
{
    for (; o && o->name; o++)
        if (letter ? o->letter == letter : strlen(o->name) == n && memcmp(o->name, name, n) == 0)
            return o;
    return NULL;
}

static bool choice_ok(const struct cmd_opt *o, const char *v)
{
    if (!o->choices)
        return true;
    for (const char *const *c = o->choices; *c; c++)
        if (sl_streq(*c, v))
            return true;
    return false;
}

static int opt_store(struct parse *p, const struct cmd_opt *o, void *base, const char *v)
{
    char *at = (char *)base + o->offset;
    long long n;
    switch (o->kind) {
    case CMD_FLAG:
        *(bool *)at = true;
        return 0;
    case CMD_TEXT:
        if (!choice_ok(o, v)) {
            fprintf(stderr, "%s: --%s: \"%s\" is not one of", p->prog->name, o->name, v);
            for (const char *const *c = o->choices; *c; c++)
                fprintf(stderr, " %s", *c);
            fputc('\n', stderr);
            return 2;
        }
        *(const char **)at = v;
        return 0;
    case CMD_INT:
        if (!sl_parse_i64(v, &n)) {
            fprintf(stderr, "%s: --%s: \"%s\" is not a whole number\n", p->prog->name, o->name, v);
            return 2;
        }
        *(int64_t *)at = n;
        return 0;
    case CMD_LIST: {
        struct cmd_list *l = (struct cmd_list *)at;
        if (l->n == CMD_LIST_MAX) {
            fprintf(stderr, "%s: --%s: given more than %d times\n", p->prog->name, o->name,
                    CMD_LIST_MAX);
            return 2;
        }
        l->v[l->n++] = v;
        return 0;
    }
    case CMD_END:
        break;
    }
    return usage(p->prog, "broken option table", o->name);
}

/* One argument that starts with '-'; *i moves on when the value is the next argument. */
static int parse_opt(struct parse *p, int argc, char **argv, int *i)
{
    const char *a = argv[*i], *value = NULL;
    const struct cmd_opt *o = NULL;
    bool is_long = a[1] == '-';
    size_t n = is_long ? strcspn(a + 2, "=") : 1;
    const char *name = is_long ? a + 2 : a + 1;
    if (is_long && a[2 + n] == '=')
        value = a + 3 + n;
    if ((is_long && n == 4 && memcmp(name, "help", 4) == 0) || sl_streq(a, "-h")) {
        p->help = true;
        return 0;
    }
    void *base = p->opts;
    if (p->verb)
        o = opt_find(p->verb->opts, name, n, is_long ? 0 : *name);
    if (!o) {
        o = opt_find(p->prog->globals, name, n, is_long ? 0 : *name);
        base = p->globals;
    }
    if (!o)
        return usage(p->prog, "unknown option", a);
    if (o->kind == CMD_FLAG)
        return value              ? usage(p->prog, "this option takes no value", a)
               : !is_long && a[2] ? usage(p->prog, "give one letter an option", a)
                                  : opt_store(p, o, base, NULL);
    if (!is_long && a[2])
        value = a + 2;
    if (!value) {
        if (*i + 1 >= argc)
            return usage(p->prog, "this option needs a value", a);
        value = argv[++*i];
    }
    return opt_store(p, o, base, value);
}

/* Finds the verb named by args[0] or by args[0] and args[1]; sets *ret_words. */
static const struct cmd_verb *verb_find(const struct cmd_program *prog, int n, char **args,
                                        int *ret_words)
{
    for (int words = n >= 2 ? 2 : 1; words >= 1; words--)
        for (const struct cmd_verb *v = prog->verbs; v->name; v++) {
            SL_AUTO_FREE char *name =
                words == 2 ? sl_asprintf("%s %s", args[0], args[1]) : sl_strdup(args[0]);
            if (sl_streq(v->name, name)) {
                *ret_words = words;
                return v;
            }
        }
    return NULL;
}

static bool is_group(const struct cmd_program *prog, const char *word)
{
    size_t n = strlen(word);
    for (const struct cmd_verb *v = prog->verbs; v->name; v++)
        if (strncmp(v->name, word, n) == 0 && v->name[n] == ' ')
            return true;
    return false;
}

/* "wallet" alone, or with a second word that is none of its own: names the second words. */
static int group_usage(const struct cmd_program *prog, const char *word)
{
    size_t n = strlen(word);
    const char *comma = "";
    fprintf(stderr, "%s: %s needs one of: ", prog->name, word);
    for (const struct cmd_verb *v = prog->verbs; v->name; v++)
        if (strncmp(v->name, word, n) == 0 && v->name[n] == ' ' && !v->hidden) {
            fprintf(stderr, "%s%s", comma, v->name + n + 1);
            comma = ", ";
        }
    fprintf(stderr, "; see `%s --help`\n", prog->name);
    return 2;
}

static void verb_take(struct parse *p, const struct cmd_verb *v, int words)
{
    p->verb = v;
    p->opts = sl_alloc(v->opts_size);
    p->argc -= words;
    memmove(p->argv, p->argv + words, sizeof *p->argv * (size_t)p->argc);
}

static int parse_all(struct parse *p, int argc, char **argv)
{
    bool no_more = false;
    if (p->prog->verbs->name[0] == 0)
        verb_take(p, p->prog->verbs, 0);
    for (int i = 1; i < argc; i++) {
        bool stop = p->verb && p->verb->stop_at_arg && p->argc > 0;
        if (!no_more && !stop && sl_streq(argv[i], "--")) {
            no_more = true;
            continue;
        }
        if (!no_more && !stop && argv[i][0] == '-' && argv[i][1]) {
            int rc = parse_opt(p, argc, argv, &i);
            if (rc)
                return rc;
            continue;
        }
        p->argv[p->argc++] = argv[i];
        if (p->verb ||
            (p->argc == 1 && is_group(p->prog, argv[i]) && i + 1 < argc && argv[i + 1][0] != '-'))
            continue;
        if (p->argc >= 1 && sl_streq(p->argv[0], "help"))
            continue;
        int words = 0;
        const struct cmd_verb *v = verb_find(p->prog, p->argc, p->argv, &words);
        if (!v && is_group(p->prog, p->argv[0]))
            return group_usage(p->prog, p->argv[0]);
        if (!v)
            return usage(p->prog, "unknown command", argv[i]);
        verb_take(p, v, words);
    }
    return 0;
}

static int run_help(struct parse *p)
{
    const struct cmd_verb *v = p->verb;
    if (!v && p->argc > 1) {
        int words;
        v = verb_find(p->prog, p->argc - 1, p->argv + 1, &words);
        if (!v && is_group(p->prog, p->argv[1]))
            return group_usage(p->prog, p->argv[1]);
        if (!v)
            return usage(p->prog, "unknown command", p->argv[1]);
    }
    cmd_help(p->prog, v, stdout);
    return 0;
}

int cmd_main(const struct cmd_program *prog, int argc, char **argv)
{
    if (argc == 2 && sl_streq(argv[1], "--version")) {
        printf("%s %s\n", prog->name, SL_VERSION);
        return 0;
    }
    if (argc == 2 && sl_streq(argv[1], "--man")) {
        cmd_man(prog, stdout);
        return 0;
    }
    if (argc == 2 && sl_streq(argv[1], "--completion")) {
        cmd_completion(prog, stdout);
        return 0;
    }
    struct parse p = {.prog = prog, .globals = sl_alloc(prog->globals_size)};
    p.argv = sl_alloc(sizeof *p.argv * (size_t)(argc + 1));
    int rc = parse_all(&p, argc, argv);
    if (rc == 0 && (p.help || (!p.verb && p.argc && sl_streq(p.argv[0], "help")))) {
        rc = run_help(&p);
    } else if (rc == 0 && !p.verb) {
        cmd_help(prog, NULL, stderr);
        rc = 2;
    } else if (rc == 0 && p.argc < p.verb->min_args) {
        fprintf(stderr, "%s: missing argument: %s %s %s\n", prog->name, prog->name, p.verb->name,
                p.verb->args);
        rc = 2;
    } else if (rc == 0 && p.verb->max_args >= 0 && p.argc > p.verb->max_args) {
        rc = usage(prog, "too many arguments", p.argv[p.verb->max_args]);
    } else if (rc == 0) {
        rc = p.verb->main(p.globals, p.opts, p.argc, p.argv);
    }
    free(p.argv);
    free(p.opts);
    free(p.globals);
    return rc;
}

static void help_opts(const struct cmd_opt *o, FILE *out)
{
    for (; o && o->name; o++) {
        char head[80];
        snprintf(head, sizeof head, "%s%c%s--%s%s%s", o->letter ? "-" : " ",
                 o->letter ? o->letter : ' ', o->letter ? ", " : "  ", o->name, o->arg ? " " : "",
                 o->arg ? o->arg : "");
        fprintf(out, "  %-28s %s\n", head, o->help);
    }
}

void cmd_help(const struct cmd_program *prog, const struct cmd_verb *verb, FILE *out)
{
    if (!verb && prog->verbs->name[0] == 0)
        verb = prog->verbs;
    if (verb) {
        fprintf(out, "usage: %s%s%s%s %s\n\n%s\n", prog->name, *verb->name ? " " : "", verb->name,
                verb->opts && verb->opts->name ? " [options]" : "", verb->args, verb->help);
        if (verb->opts && verb->opts->name) {
            fputs("\noptions:\n", out);
            help_opts(verb->opts, out);
        }
        if (verb->details)
            fprintf(out, "\n%s\n", verb->details);
        if (prog->globals && prog->globals->name) {
            fputs("\ncommon options:\n", out);
            help_opts(prog->globals, out);
        }
        return;
    }
    fprintf(out, "usage: %s COMMAND [options]\n\n%s\n\ncommands:\n", prog->name, prog->help);
    for (const struct cmd_verb *v = prog->verbs; v->name; v++)
        if (!v->hidden)
            fprintf(out, "  %-18s %s\n", v->name, v->help);
    fputs("\ncommon options:\n", out);
    help_opts(prog->globals, out);
    fprintf(out, "\n`%s help COMMAND` tells more.\n", prog->name);
}

/* Man source: '-' must be written \- and a leading '.' or '\'' is a request. */
static void man_text(const char *s, FILE *out)
{
    for (bool start = true; *s; s++) {
        if (start && (*s == '.' || *s == '\''))
            fputs("\\&", out);
        if (*s == '-')
            fputs("\\-", out);
        else if (*s == '\\')
            fputs("\\e", out);
        else
            fputc(*s, out);
        start = *s == '\n';
    }
}

static void man_opts(const struct cmd_opt *o, FILE *out)
{
    for (; o && o->name; o++) {
        fputs(".TP\n\\fB", out);
        if (o->letter)
            fprintf(out, "\\-%c\\fR, \\fB", o->letter);
        fputs("\\-\\-", out);
        man_text(o->name, out);
        fputs("\\fR", out);
        if (o->arg)
            fprintf(out, " \\fI%s\\fR", o->arg);
        fputc('\n', out);
        man_text(o->help, out);
        fputc('\n', out);
    }
}

void cmd_man(const struct cmd_program *prog, FILE *out)
{
    fprintf(out, ".\\\" printed by `%s --man`; do not edit\n.TH %s 1 \"\" \"Starlease %s\"\n",
            prog->name, prog->name, SL_VERSION);
    fprintf(out, ".SH NAME\n%s \\- ", prog->name);
    man_text(prog->help, out);
    fprintf(out, "\n.SH SYNOPSIS\n\\fB%s\\fR %s\n", prog->name,
            prog->verbs->name[0] ? "\\fICOMMAND\\fR [options]" : "[options]");
    if (prog->globals && prog->globals->name) {
        fputs(".SH COMMON OPTIONS\n", out);
        man_opts(prog->globals, out);
    }
    fputs(prog->verbs->name[0] ? ".SH COMMANDS\n" : ".SH OPTIONS\n", out);
    for (const struct cmd_verb *v = prog->verbs; v->name; v++) {
        if (v->hidden)
            continue;
        if (v->name[0])
            fprintf(out, ".SS \"%s %s\"\n", v->name, v->args);
        man_text(v->help, out);
        fputc('\n', out);
        if (v->details) {
            fputs(".PP\n", out);
            man_text(v->details, out);
            fputc('\n', out);
        }
        man_opts(v->opts, out);
    }
    if (prog->man_tail)
        fputs(prog->man_tail, out);
}

static void completion_words(const struct cmd_opt *o, FILE *out)
{
    for (; o && o->name; o++)
        fprintf(out, " --%s", o->name);
}

void cmd_completion(const struct cmd_program *prog, FILE *out)
{
    SL_AUTO_FREE char *fn = sl_strdup(prog->name);
    for (char *c = fn; *c; c++)
        if (*c == '-')
            *c = '_';
    fprintf(out, "# bash completion for %s, printed by `%s --completion`; do not edit\n_%s() {\n",
            prog->name, prog->name, fn);
    fputs("    local cur=${COMP_WORDS[COMP_CWORD]} words=\"${COMP_WORDS[1]-} "
          "${COMP_WORDS[2]-}\" list\n    case \"$words\" in\n",
          out);
    for (const struct cmd_verb *v = prog->verbs; v->name && v->name[0]; v++) {
        if (v->hidden)
            continue;
        fprintf(out, "    \"%s%s\"*) list=\"", v->name, strchr(v->name, ' ') ? "" : " ");
        completion_words(v->opts, out);
        completion_words(prog->globals, out);
        fputs("\" ;;\n", out);
    }
    fputs("    *) list=\"", out);
    for (const struct cmd_verb *v = prog->verbs; v->name; v++)
        if (!v->hidden && v->name[0])
            fprintf(out, "%s ", v->name);
    if (!prog->verbs->name[0])
        completion_words(prog->verbs->opts, out);
    completion_words(prog->globals, out);
    fprintf(
        out,
        "\" ;;\n    esac\n    mapfile -t COMPREPLY < <(compgen -W \"$list\" -f -- \"$cur\")\n}\n"
        "complete -F _%s %s\n",
        fn, prog->name);
}
