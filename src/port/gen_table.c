/* SPDX-License-Identifier: Apache-2.0
 *
 * gen_table.c: runs in the build: tables/ *.tab -> one C file with the API table and its perfect
 * hash.
 *
 *     gen_table api_data.c runtime.tab driver.tab ... args.tab
 *
 * A .tab file is lines of words; '#' starts a comment line. Forms of a line:
 *
 * - library NAME: what the rows below belong to
 * - flags miopen: every row's roc* target is MIOpen's
 * - hip FROM TO: a name that starts with FROM has the HIP target TO + the rest; the first rule wins
 * - hip same: the target is the name itself
 * - roc FROM TO snake|keep: the same for roc* targets; snake: the rest in snake_case
 * - [KIND TOPIC h+V r+V]: kind and statistics topic of the rows below, their default versions
 * - NAME WORDS "NOTE": one API
 *
 * Words of an API row:
 *
 * - =TARGET: its HIP target where no rule gives it; - alone: no HIP target
 * - |TARGET: its roc* target; | alone: by rule
 * - c+V c~V c-V: CUDA (or cuDNN) version that adds, deprecates, removes it; 0: not known which
 * - h+V h~V h-V: the same for HIP; r+V r-V: for the roc* target
 * - @FROM-BEFORE=TARGET: another HIP target for ROCm versions in that range, which may be open on
 *   one side (FROM above BEFORE: from FROM on, and before BEFORE); |@TARGET: the same for the roc*
 * target, in the same range
 * - experimental, v2, main, miopen, extra, drop: flags, see API_* in api.h
 *
 * args.tab (the last file) says its own form. Any mistake stops the build with file and line.
 */
#include "api.h"
#include "api_table.h"
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROWS_MAX = 16000, RULES_MAX = 1000, PREFIX_MAX = 16, WORDS_MAX = 24, POOL_MAX = 1 << 21 };

struct prefix {
    char from[64], to[64];
    int snake;
};
static struct api_row rows[ROWS_MAX];
static struct api_rule_row rules[RULES_MAX];
static int rule_owner[RULES_MAX];
static uint32_t versions[ROWS_MAX][API_VERSIONS];
static uint32_t libraries[64], topics[128];
static unsigned n_rows, n_rules, n_versions, n_libraries, n_topics, longest;
static char pool[POOL_MAX];
static uint32_t pool_n = 1;
static const char *file;
static int line;

/* State of the file being read. */
static struct prefix hip[PREFIX_MAX], roc[PREFIX_MAX];
static int n_hip, n_roc, hip_same, all_miopen, kind, topic;
static uint32_t default_hip, default_roc;

static void die(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
static void die(const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fprintf(stderr, "%s:%d: ", file, line);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
    exit(1);
}

static uint32_t intern(const char *s)
{
    size_t n = strlen(s) + 1;
    if (n == 1)
        return 0;
    if (pool_n + n > POOL_MAX)
        die("the string pool is full");
    memcpy(pool + pool_n, s, n);
    pool_n += (uint32_t)n;
    return pool_n - (uint32_t)n;
}

static int find_row(const char *name)
{
    for (unsigned i = 0; i < n_rows; i++)
        if (strcmp(pool + rows[i].cuda, name) == 0)
            return (int)i;
    return -1;
}

static uint32_t version_of(const char *s)
{
    unsigned a = 0, b = 0, c = 0;
    if (sscanf(s, "%u.%u.%u", &a, &b, &c) < 1 || a > 99 || b > 99 || c > 99)
        die("\"%s\" is no version", s);
    return a * 10000 + b * 100 + c;
}

static const char *by_rule(const struct prefix *p, int n, const char *name, char out[256])
{
    for (int i = 0; i < n; i++) {
        size_t k = strlen(p[i].from), o = strlen(p[i].to);
        if (strncmp(name, p[i].from, k) != 0)
            continue;
        memcpy(out, p[i].to, o);
        for (const char *s = name + k; *s && o < 250; s++) {
            if (p[i].snake && isupper((unsigned char)*s) && s > name + k &&
                (islower((unsigned char)s[-1]) || isdigit((unsigned char)s[-1])))
                out[o++] = '_';
            out[o++] = p[i].snake ? (char)tolower((unsigned char)*s) : *s;
        }
        out[o] = 0;
        return out;
    }
    die("no rule gives a target for %s", name);
}

static uint32_t named(uint32_t *list, unsigned *n, unsigned max, const char *name)
{
    for (unsigned i = 0; i < *n; i++)
        if (strcmp(pool + list[i], name) == 0)
            return i;
    if (*n == max)
        die("too many different names such as \"%s\"", name);
    list[*n] = intern(name);
    return (*n)++;
}

static uint16_t version_row(const uint32_t v[API_VERSIONS])
{
    for (unsigned i = 0; i < n_versions; i++)
        if (memcmp(versions[i], v, sizeof versions[i]) == 0)
            return (uint16_t)i;
    memcpy(versions[n_versions], v, sizeof versions[0]);
    return (uint16_t)n_versions++;
}

/* @FROM-BEFORE=TARGET */
static void variant_word(struct api_row *r, const char *w, uint32_t v[API_VERSIONS])
{
    char from[16] = "", before[16] = "", name[128];
    if (sscanf(w, "@%15[0-9.]-%15[0-9.]=%127s", from, before, name) == 3 ||
        sscanf(w, "@%15[0-9.]-=%127s", from, name) == 2)
        v[9] = version_of(from);
    else if (sscanf(w, "@-%15[0-9.]=%127s", before, name) != 2)
        die("a variant is @FROM-BEFORE=TARGET");
    v[10] = *before ? version_of(before) : 0;
    r->variant = intern(name);
}

/* One attribute word of a row. Targets are left in ret_hip, ret_roc. */
static void row_word(struct api_row *r, const char *w, uint32_t v[API_VERSIONS],
                     const char **ret_hip, const char **ret_roc)
{
    static const struct {
        const char *word;
        int field;
        unsigned flag;
    } dated[] = {{"c+", 0, 0},
                 {"c~", 1, API_CUDA_DEPRECATED},
                 {"c-", 2, API_CUDA_REMOVED},
                 {"h+", 3, 0},
                 {"h~", 4, API_HIP_DEPRECATED},
                 {"h-", 5, 0},
                 {"hx", 6, 0},
                 {"r+", 7, 0},
                 {"r-", 8, 0}};
    static const struct {
        const char *word;
        unsigned flag;
    } flags[] = {{"experimental", API_EXPERIMENTAL},
                 {"v2", API_V2_ONLY},
                 {"main", API_MAIN_HEADER},
                 {"miopen", API_MIOPEN},
                 {"extra", API_EXTRA},
                 {"drop", API_DROP}};
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (strcmp(w, flags[i].word) == 0) {
            r->flags |= (uint16_t)flags[i].flag;
            return;
        }
    for (size_t i = 0; i < sizeof dated / sizeof *dated; i++)
        if (strncmp(w, dated[i].word, 2) == 0 && isdigit((unsigned char)w[2])) {
            v[dated[i].field] = version_of(w + 2);
            r->flags |= (uint16_t)dated[i].flag;
            return;
        }
    if (*w == '@') {
        variant_word(r, w, v);
    } else if (strncmp(w, "|@", 2) == 0) {
        r->roc_variant = intern(w + 2);
    } else if (*w == '=')
        *ret_hip = w + 1;
    else if (*w == '|')
        *ret_roc = w + 1;
    else if (strcmp(w, "-") == 0)
        *ret_hip = NULL;
    else
        die("unknown word \"%s\"", w);
}

static void add_row(char **w, int n, const char *note)
{
    char buf[256];
    const char *name = w[0], *to_hip = "", *to_roc = NULL;
    size_t length = strlen(name);
    uint32_t v[API_VERSIONS] = {0};
    if (n_rows == ROWS_MAX || length < 2 || length > 255 || !n_libraries)
        die("no place for row %s", name);
    struct api_row *r = &rows[n_rows++];
    *r = (struct api_row){.cuda = intern(name),
                          .note = intern(note),
                          .kind = (uint8_t)kind,
                          .library = (uint8_t)(n_libraries - 1),
                          .topic = (uint8_t)topic,
                          .length = (uint8_t)length,
                          .flags = all_miopen ? API_MIOPEN : 0};
    v[3] = default_hip;
    for (int i = 1; i < n; i++)
        row_word(r, w[i], v, &to_hip, &to_roc);
    if (to_hip) {
        r->flags |= API_HIP;
        r->hip = *to_hip    ? intern(to_hip)
                 : hip_same ? r->cuda
                            : intern(by_rule(hip, n_hip, name, buf));
    } else {
        v[3] = 0;
    }
    if (to_roc) {
        r->flags |= API_ROC;
        r->roc = intern(*to_roc ? to_roc : by_rule(roc, n_roc, name, buf));
        v[7] = v[7] ? v[7] : default_roc;
    }
    r->version = version_row(v);
    longest = length > longest ? (unsigned)length : longest;
}

static void heading(char **w, int n)
{
    static const char *const kinds[API_KINDS] = {"function",    "type",     "constant",
                                                 "macro",       "header",   "device-function",
                                                 "device-type", "namespace"};
    if (n < 2)
        die("a heading is [KIND TOPIC ...]");
    for (kind = 0; kind < API_KINDS && strcmp(kinds[kind], w[0]) != 0; kind++)
        ;
    if (kind == API_KINDS)
        die("unknown kind \"%s\"", w[0]);
    topic = (int)named(topics, &n_topics, 128, w[1]);
    default_hip = default_roc = 0;
    for (int i = 2; i < n; i++) {
        uint32_t version = version_of(w[i] + 2);
        if (strncmp(w[i], "h+", 2) == 0)
            default_hip = version;
        else
            default_roc = version;
    }
}

static int split(char *s, char *w[WORDS_MAX])
{
    int n = 0;
    char *rest;
    for (s = strtok_r(s, " \t\r\n", &rest); s && n < WORDS_MAX;
         s = strtok_r(NULL, " \t\r\n", &rest))
        w[n++] = s;
    return n;
}

static void add_prefix(struct prefix *list, int *n, char **w, int words)
{
    if (*n == PREFIX_MAX || words < 3 || strlen(w[1]) > 60 || strlen(w[2]) > 60)
        die("a rule is: hip|roc FROM TO [snake|keep]");
    struct prefix *p = &list[(*n)++];
    *p = (struct prefix){.snake = words > 3 && strcmp(w[3], "snake") == 0};
    memcpy(p->from, w[1], strlen(w[1]));
    memcpy(p->to, w[2], strlen(w[2]));
}

static void table_line(char *s)
{
    char *w[WORDS_MAX];
    const char *note = "";
    char *quote = strchr(s, '"');
    if (quote) {
        char *end = strrchr(s, '"');
        if (end == quote)
            die("a note ends with a quote");
        *quote = *end = 0;
        note = quote + 1;
    }
    if (*s == '[') {
        char *end = strchr(s, ']');
        if (!end)
            die("a heading ends with ]");
        *end = 0;
        heading(w, split(s + 1, w));
        return;
    }
    int n = split(s, w);
    if (n == 0)
        return;
    if (strcmp(w[0], "library") == 0 && n == 2) {
        n_hip = n_roc = hip_same = all_miopen = 0;
        libraries[n_libraries++] = intern(w[1]);
    } else if (strcmp(w[0], "flags") == 0) {
        all_miopen = 1;
    } else if (strcmp(w[0], "hip") == 0 && n == 2) {
        hip_same = 1;
    } else if (strcmp(w[0], "hip") == 0) {
        add_prefix(hip, &n_hip, w, n);
    } else if (strcmp(w[0], "roc") == 0) {
        add_prefix(roc, &n_roc, w, n);
    } else {
        add_row(w, n, note);
    }
}

/* Fills what follows an action word: a value, or numbers. */
static void rule_value(struct api_rule_row *u, char **w, int n)
{
    char text[256] = "";
    if (u->action == API_ARG_COPY || u->action == API_ARG_MOVE) {
        if (n < 1 || (u->action == API_ARG_MOVE && n < 2))
            die("the action needs a number");
        u->to = (uint8_t)strtoul(w[0], NULL, 10);
        u->count = (uint8_t)(u->action == API_ARG_MOVE ? strtoul(w[1], NULL, 10) : 1);
        return;
    }
    for (int i = 0; i < n; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", i ? " " : "", w[i]);
    u->value = intern(text);
}

static void add_rule(const char *name, char **w, int n)
{
    static const char *const actions[API_ACTIONS] = {
        "symbol", "cast-pointer", "cast-size", "add", "set", "remove", "copy", "move", "name"};
    int id = find_row(name);
    if (id < 0)
        die("%s is in no table", name);
    if (n_rules == RULES_MAX)
        die("too many rules");
    struct api_rule_row *u = &rules[n_rules];
    const char *target = w[1], *slash = strchr(target, '/');
    u->target = *target == 'h' ? API_TO_HIP : *target == 'r' ? API_TO_ROC : API_TO_MIOPEN;
    u->argc = (uint8_t)(slash ? strtoul(slash + 1, NULL, 10) : 0);
    u->arg = (uint8_t)strtoul(w[2], NULL, 10);
    for (u->action = 0; u->action < API_ACTIONS && strcmp(actions[u->action], w[3]) != 0;
         u->action++)
        ;
    if (u->action == API_ACTIONS)
        die("unknown action \"%s\"", w[3]);
    rule_value(u, w + 4, n - 4);
    rule_owner[n_rules++] = id;
}

static void rule_line(char *s)
{
    char *w[WORDS_MAX], name[256];
    int n = split(s, w);
    if (n == 0)
        return;
    if (n < 4)
        die("a rule is: NAME TARGET ARGUMENT ACTION [VALUE]");
    char *open = strchr(w[0], '['), *close = strchr(w[0], ']');
    if (!open || !close) {
        add_rule(w[0], w, n);
        return;
    }
    for (char *c = open + 1; c < close; c++) {
        snprintf(name, sizeof name, "%.*s%c%s", (int)(open - w[0]), w[0], *c, close + 1);
        add_rule(name, w, n);
    }
}

static void read_file(const char *path, int is_rules)
{
    char buf[1024];
    file = path;
    line = 0;
    FILE *f = fopen(path, "r");
    if (!f)
        die("cannot be opened");
    while (fgets(buf, sizeof buf, f)) {
        line++;
        if (!strchr(buf, '\n'))
            die("the line is too long");
        if (buf[0] == '#')
            continue;
        if (is_rules)
            rule_line(buf);
        else
            table_line(buf);
    }
    fclose(f);
}

/* Rules sorted by owner, so that a row names them by first and count. */
static void order_rules(void)
{
    static struct api_rule_row sorted[RULES_MAX];
    unsigned k = 0;
    for (unsigned i = 0; i < n_rows; i++) {
        rows[i].rule = (uint16_t)k;
        for (unsigned j = 0; j < n_rules; j++)
            if (rule_owner[j] == (int)i)
                sorted[k++] = rules[j];
        rows[i].n_rules = (uint16_t)(k - rows[i].rule);
    }
    memcpy(rules, sorted, sizeof rules);
}

static uint16_t displacement[1 << API_BUCKET_BITS], slots[1 << API_SLOT_BITS];
static uint16_t bucket_size[1 << API_BUCKET_BITS], by_bucket[ROWS_MAX];

static int bucket_order(const void *a, const void *b)
{
    unsigned x = *(const uint16_t *)a, y = *(const uint16_t *)b;
    return bucket_size[x] != bucket_size[y] ? (int)bucket_size[y] - bucket_size[x]
                                            : (int)x - (int)y;
}

static uint64_t hash_of(unsigned row)
{
    return api_hash(pool + rows[row].cuda, rows[row].length);
}

/* Tries one displacement for the n rows of a bucket; takes the slots when all are free. */
static int place(const uint16_t *members, unsigned n, uint16_t d)
{
    unsigned k;
    for (k = 0; k < n; k++) {
        uint16_t *s = &slots[api_slot(hash_of(members[k]), d)];
        if (*s)
            break;
        *s = (uint16_t)(members[k] + 1);
    }
    if (k == n)
        return 1;
    while (k-- > 0)
        slots[api_slot(hash_of(members[k]), d)] = 0;
    return 0;
}

static void build_hash(void)
{
    enum { BUCKETS = 1 << API_BUCKET_BITS };
    static uint16_t order[BUCKETS], start[BUCKETS + 1], fill[BUCKETS];
    for (unsigned i = 0; i < n_rows; i++)
        bucket_size[api_bucket(hash_of(i))]++;
    for (unsigned b = 0; b < BUCKETS; b++) {
        start[b + 1] = (uint16_t)(start[b] + bucket_size[b]);
        order[b] = (uint16_t)b;
    }
    for (unsigned i = 0; i < n_rows; i++) {
        unsigned b = api_bucket(hash_of(i));
        by_bucket[start[b] + fill[b]++] = (uint16_t)i;
    }
    qsort(order, BUCKETS, sizeof *order, bucket_order);
    for (unsigned k = 0; k < BUCKETS && bucket_size[order[k]]; k++) {
        unsigned b = order[k], d = 0;
        while (!place(by_bucket + start[b], bucket_size[b], (uint16_t)d))
            if (++d > 65535)
                die("no displacement for bucket %u: the same name twice (%s)?", b,
                    pool + rows[by_bucket[start[b]]].cuda);
        displacement[b] = (uint16_t)d;
    }
}

static void write_u16(FILE *f, const char *decl, const uint16_t *v, unsigned n)
{
    fprintf(f, "const uint16_t %s = {", decl);
    for (unsigned i = 0; i < n; i++)
        fprintf(f, "%s%u,", i % 16 ? "" : "\n", v[i]);
    fprintf(f, "};\n");
}

static void write_u32(FILE *f, const char *decl, const uint32_t *v, unsigned n)
{
    fprintf(f, "const uint32_t %s = {", decl);
    for (unsigned i = 0; i < n; i++)
        fprintf(f, "%s%u,", i % 12 ? "" : "\n", v[i]);
    fprintf(f, "};\n");
}

static void write_pool(FILE *f)
{
    fprintf(f, "const char api_pool[] =\n\"\\0");
    for (uint32_t i = 1; i < pool_n; i++) {
        unsigned char c = (unsigned char)pool[i];
        if (c == 0)
            fprintf(f, "\\0\"\n\"");
        else if (c == '"' || c == '\\')
            fprintf(f, "\\%c", c);
        else
            fputc(c, f);
    }
    fprintf(f, "\";\n");
}

static void write_rows(FILE *f)
{
    fprintf(f, "const struct api_row api_rows[] = {\n");
    for (unsigned i = 0; i < n_rows; i++) {
        const struct api_row *r = &rows[i];
        fprintf(f, "{%u,%u,%u,%u,%u,%u,%u,%u,%u,%u,%u,%u,%u,%u},\n", r->cuda, r->hip, r->roc,
                r->note, r->variant, r->roc_variant, r->flags, r->version, r->kind, r->library,
                r->topic, r->length, r->rule, r->n_rules);
    }
    fprintf(f, "};\nconst struct api_rule_row api_rules[] = {\n");
    for (unsigned i = 0; i < n_rules; i++) {
        const struct api_rule_row *u = &rules[i];
        fprintf(f, "{%u,%u,%u,%u,%u,%u,%u},\n", u->value, u->target, u->argc, u->arg, u->action,
                u->to, u->count);
    }
    fprintf(f, "};\nconst uint32_t api_versions[][API_VERSIONS] = {\n");
    for (unsigned i = 0; i < n_versions; i++) {
        fputc('{', f);
        for (int k = 0; k < API_VERSIONS; k++)
            fprintf(f, "%u,", versions[i][k]);
        fprintf(f, "},\n");
    }
    fprintf(f, "};\n");
}

/* Marks of names that a translation must look at: another target, or none. */
static void write_marks(FILE *f)
{
    static uint64_t bits[1024];
    for (unsigned i = 0; i < n_rows; i++) {
        const struct api_row *r = &rows[i];
        if (r->kind == API_HEADER || (r->hip == r->cuda && !(r->flags & API_ROC)))
            continue;
        uint32_t b = api_mark(pool + r->cuda, r->length);
        bits[b >> 6] |= 1ull << (b & 63);
    }
    fprintf(f, "const uint64_t api_marks[1024] = {");
    for (int i = 0; i < 1024; i++)
        fprintf(f, "%s0x%llx,", i % 8 ? "" : "\n", (unsigned long long)bits[i]);
    fprintf(f, "};\n");
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        fprintf(stderr, "usage: gen_table OUT.c TABLE... ARGS\n");
        return 2;
    }
    for (int i = 2; i < argc; i++)
        read_file(argv[i], i == argc - 1);
    order_rules();
    build_hash();
    FILE *f = fopen(argv[1], "w");
    if (!f) {
        perror(argv[1]);
        return 1;
    }
    fprintf(f, "/* written by gen_table; do not edit */\n#include \"port/api_table.h\"\n");
    write_pool(f);
    write_rows(f);
    write_u32(f, "api_libraries[]", libraries, n_libraries);
    write_u32(f, "api_topics[]", topics, n_topics);
    write_u16(f, "api_displacement[1 << API_BUCKET_BITS]", displacement, 1 << API_BUCKET_BITS);
    write_u16(f, "api_slots[1 << API_SLOT_BITS]", slots, 1 << API_SLOT_BITS);
    write_marks(f);
    fprintf(f, "const uint16_t api_rows_n = %u, api_topics_n = %u, api_longest = %u;\n", n_rows,
            n_topics, longest);
    return fclose(f) == 0 ? 0 : 1;
}
