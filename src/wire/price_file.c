/* SPDX-License-Identifier: Apache-2.0
 *
 * CSV with a table of columns: the header line says which are there and in what order.
 */
#include "base/core/clock.h"
#include "wire/price_file.h"
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

enum { COLUMNS_MAX = 24, CELL_MAX = 512, NUMBER_MAX = 1 << 20 };

enum cell_kind { CELL_TEXT, CELL_MONEY, CELL_NUMBER, CELL_BYTES, CELL_DATE, CELL_CURRENCY };
struct column {
    const char *name;
    enum cell_kind kind;
    bool required;
    size_t offset;
};
#define COL(T, name, kind, required)                                                               \
    {                                                                                              \
#name, kind, required, offsetof(struct T, name)                                            \
    }
static const struct column price_columns[] = {
    COL(price_row, model, CELL_TEXT, true),
    {"price", CELL_MONEY, true, offsetof(struct price_row, price_micro)},
    COL(price_row, currency, CELL_CURRENCY, true),
    COL(price_row, memory_gb_told, CELL_NUMBER, false),
    COL(price_row, memory_gb, CELL_NUMBER, false),
    COL(price_row, memory_type, CELL_TEXT, false),
    COL(price_row, unit, CELL_TEXT, false),
    COL(price_row, cost_per_gb_told, CELL_TEXT, false),
    COL(price_row, frameworks, CELL_TEXT, false),
    COL(price_row, note, CELL_TEXT, false),
    COL(price_row, offer, CELL_TEXT, false),
    {"seen", CELL_DATE, false, offsetof(struct price_row, seen_us)},
    COL(price_row, source, CELL_TEXT, false),
    {0}};
static const struct column model_columns[] = {COL(model_row, name, CELL_TEXT, true),
                                              COL(model_row, maker, CELL_TEXT, true),
                                              COL(model_row, memory_type, CELL_TEXT, true),
                                              COL(model_row, memory_bytes, CELL_BYTES, true),
                                              COL(model_row, devices_per_card, CELL_NUMBER, true),
                                              COL(model_row, gfx, CELL_TEXT, true),
                                              COL(model_row, partition_modes, CELL_TEXT, true),
                                              COL(model_row, source, CELL_TEXT, false),
                                              {0}};

static const struct column catalogue_columns[] = {COL(catalogue_row, name, CELL_TEXT, true),
                                                  COL(catalogue_row, reference, CELL_TEXT, true),
                                                  COL(catalogue_row, rocm, CELL_TEXT, true),
                                                  COL(catalogue_row, frameworks, CELL_TEXT, true),
                                                  COL(catalogue_row, note, CELL_TEXT, false),
                                                  COL(catalogue_row, source, CELL_TEXT, false),
                                                  {0}};
static const struct column compat_columns[] = {COL(compat_row, gfx, CELL_TEXT, true),
                                               COL(compat_row, rocm_min, CELL_TEXT, false),
                                               COL(compat_row, kernel_min, CELL_TEXT, false),
                                               COL(compat_row, source, CELL_TEXT, true),
                                               {0}};

struct csv {
    const char *name, *p, *end;
    int line; /* of the record being read, from 1 */
    int next_line;
    struct sl_arena *arena;
    const char *cells[COLUMNS_MAX];
    int n;
    const struct column *columns[COLUMNS_MAX]; /* of the header */
    int n_columns;
};

static int fail_cell(const struct csv *v, const char *column, struct sl_err *err, const char *what,
                     const char *cell)
{
    return sl_fail_at(err, SL_INVALID, column, "%s line %d, %s: \"%.60s\" %s", v->name, v->line,
                      column, cell, what);
}

/* One cell; p stands after it, on ',' or at the end of the line. */
static int cell_read(struct csv *v, struct sl_err *err)
{
    SL_AUTO_BUF struct sl_buf b = SL_BUF(CELL_MAX);
    bool quoted = v->p < v->end && *v->p == '"';
    if (v->n == COLUMNS_MAX)
        return sl_fail(err, SL_INVALID, "%s line %d has more than %d fields", v->name, v->line,
                       COLUMNS_MAX);
    if (quoted)
        v->p++;
    for (; v->p < v->end; v->p++) {
        char ch = *v->p;
        if (quoted && ch == '"') {
            v->p++;
            if (v->p == v->end || *v->p != '"')
                break;
        } else if (!quoted && (ch == ',' || ch == '\n' || ch == '\r')) {
            break;
        } else if (ch == '\n' || (!quoted && ch == '"')) {
            return sl_fail(err, SL_INVALID,
                           "%s line %d: a quote is not closed or stands inside a field; write "
                           "\"a field\" with \"\" for a quote",
                           v->name, v->line);
        }
        sl_buf_addc(&b, ch);
    }
    if (b.over || (v->p < v->end && !strchr(",\r\n", *v->p)))
        return sl_fail(err, SL_INVALID,
                       "%s line %d: a field is longer than %d bytes or does not "
                       "end with a comma",
                       v->name, v->line, CELL_MAX);
    v->cells[v->n++] = sl_arena_strndup(v->arena, sl_buf_str(&b), b.n);
    return 0;
}

static void line_end(struct csv *v)
{
    if (v->p < v->end && *v->p == '\r')
        v->p++;
    if (v->p < v->end && *v->p == '\n')
        v->p++;
    v->next_line++;
}

/* 1 a record, 0 the end, -1 error. */
static int record_read(struct csv *v, struct sl_err *err)
{
    v->n = 0;
    while (v->p < v->end && (*v->p == '#' || *v->p == '\n' || *v->p == '\r')) {
        while (v->p < v->end && *v->p != '\n')
            v->p++;
        line_end(v);
    }
    v->line = v->next_line;
    if (v->p == v->end)
        return 0;
    for (;;) {
        if (cell_read(v, err) < 0)
            return -1;
        if (v->p == v->end || *v->p != ',')
            break;
        v->p++;
    }
    if (v->p < v->end && *v->p == '\r' && (v->p + 1 == v->end || v->p[1] != '\n'))
        return sl_fail(err, SL_INVALID, "%s line %d: a carriage return inside a line", v->name,
                       v->line);
    line_end(v);
    return 1;
}

static int header_read(struct csv *v, const struct column *table, struct sl_err *err)
{
    int rc = record_read(v, err);
    if (rc <= 0)
        return rc < 0 ? -1 : sl_fail(err, SL_INVALID, "%s has no header line", v->name);
    for (int i = 0; i < v->n; i++) {
        const struct column *c = table;
        while (c->name && !sl_streq(c->name, v->cells[i]))
            c++;
        if (!c->name)
            return fail_cell(v, "header", err, "is not a column of this kind of file", v->cells[i]);
        for (int k = 0; k < i; k++)
            if (v->columns[k] == c)
                return fail_cell(v, "header", err, "is there twice", v->cells[i]);
        v->columns[i] = c;
    }
    v->n_columns = v->n;
    for (const struct column *c = table; c->name; c++) {
        int i = 0;
        while (i < v->n_columns && v->columns[i] != c)
            i++;
        if (c->required && i == v->n_columns)
            return fail_cell(v, "header", err, "is missing", c->name);
    }
    return 0;
}

static int number_read(const struct csv *v, const struct column *c, const char *cell, int64_t max,
                       int64_t *ret, struct sl_err *err)
{
    long long n;
    if (!sl_parse_i64(cell, &n) || n < 1 || n > max)
        return fail_cell(v, c->name, err, "is not a whole number of at least 1 in range", cell);
    *ret = n;
    return 0;
}

static int cell_store(const struct csv *v, const struct column *c, const char *cell, void *row,
                      struct sl_err *err)
{
    char *at = (char *)row + c->offset;
    struct sl_err why = {0};
    if (!sl_utf8_ok(cell, strlen(cell), false))
        return fail_cell(v, c->name, err, "has control characters or is not UTF-8", "");
    if (c->required && !*cell)
        return fail_cell(v, c->name, err, "is empty; every line needs it", cell);
    if (c->kind == CELL_TEXT) {
        memcpy(at, &cell, sizeof cell);
        return 0;
    }
    if (!*cell)
        return 0;
    int64_t n = 0;
    switch (c->kind) {
    case CELL_MONEY:
        if (money_parse(cell, c->name, &n, &why) < 0 || n <= 0 || n > 1000000 * SL_MICRO)
            return fail_cell(v, c->name, err,
                             "is not a price; write 0.000001 to 1000000 with at most 6 decimals",
                             cell);
        break;
    case CELL_DATE:
        if (ts_parse(cell, c->name, &n, &why) < 0)
            return fail_cell(v, c->name, err, "is not a date; write 2026-12-01", cell);
        break;
    case CELL_CURRENCY:
        if (!currency_ok(cell))
            return fail_cell(v, c->name, err, "is not a currency; write three capitals, like CNY",
                             cell);
        memcpy(at, &cell, sizeof cell);
        return 0;
    default:
        if (number_read(v, c, cell, c->kind == CELL_BYTES ? INT64_MAX / 2 : NUMBER_MAX, &n, err) <
            0)
            return -1;
    }
    memcpy(at, &n, sizeof n);
    return 0;
}

/* Reads all records into rows of `size` bytes. */
static int rows_read(struct csv *v, const struct column *table, size_t size, size_t line_offset,
                     void **ret_rows, int *ret_n, struct sl_err *err)
{
    char *rows = NULL;
    int n = 0, cap = 0, rc;
    static const char empty[] = "";
    if (header_read(v, table, err) < 0)
        return -1;
    while ((rc = record_read(v, err)) > 0) {
        if (v->n != v->n_columns)
            return sl_fail(err, SL_INVALID, "%s line %d has %d fields, the header has %d", v->name,
                           v->line, v->n, v->n_columns);
        if (n == PRICE_ROWS_MAX)
            return sl_fail(err, SL_TOO_LARGE, "%s has more than %d lines", v->name, PRICE_ROWS_MAX);
        if (n == cap) {
            char *grown = sl_arena_alloc(v->arena, (size_t)(cap = cap ? cap * 2 : 32) * size);
            if (n)
                memcpy(grown, rows, (size_t)n * size);
            rows = grown;
        }
        char *row = rows + (size_t)n++ * size;
        for (const struct column *c = table; c->name; c++)
            if (c->kind == CELL_TEXT || c->kind == CELL_CURRENCY)
                memcpy(row + c->offset, &(const char *){empty}, sizeof(const char *));
        memcpy(row + line_offset, &v->line, sizeof v->line);
        for (int i = 0; i < v->n; i++)
            if (cell_store(v, v->columns[i], v->cells[i], row, err) < 0)
                return -1;
    }
    *ret_rows = rows;
    *ret_n = n;
    return rc;
}

static int csv_open(struct csv *v, const char *name, const char *text, size_t n,
                    struct sl_arena *arena, struct sl_err *err)
{
    *v = (struct csv){.name = name, .p = text, .end = text + n, .next_line = 1, .arena = arena};
    if (n > PRICE_FILE_MAX)
        return sl_fail(err, SL_TOO_LARGE, "%s is larger than %d bytes", name, PRICE_FILE_MAX);
    if (memchr(text, 0, n))
        return sl_fail(err, SL_INVALID, "%s holds a NUL byte; it is not a text file", name);
    return 0;
}

int price_file_parse(const char *name, const char *text, size_t n, struct sl_arena *arena,
                     struct price_file *ret, struct sl_err *err)
{
    struct csv v;
    *ret = (struct price_file){.name = name};
    if (csv_open(&v, name, text, n, arena, err) < 0 ||
        rows_read(&v, price_columns, sizeof(struct price_row), offsetof(struct price_row, line),
                  (void **)&ret->rows, &ret->n, err) < 0)
        return -1;
    for (int i = 0; i < ret->n; i++) {
        struct price_row *r = &ret->rows[i];
        v.line = r->line;
        if (!*r->unit)
            r->unit = "gpu_hour";
        bool cpu = sl_streq(r->model, "cpu"), disk = sl_streq(r->model, "disk");
        if (!sl_streq(r->unit, cpu ? "instance_hour" : disk ? "gb_month" : "gpu_hour"))
            return fail_cell(&v, "unit", err,
                             "is not the unit of that line: gpu_hour for cards, instance_hour for "
                             "cpu, gb_month for disk",
                             r->unit);
    }
    return 0;
}

int model_file_parse(const char *name, const char *text, size_t n, struct sl_arena *arena,
                     struct model_file *ret, struct sl_err *err)
{
    struct csv v;
    *ret = (struct model_file){0};
    if (csv_open(&v, name, text, n, arena, err) < 0)
        return -1;
    if (rows_read(&v, model_columns, sizeof(struct model_row), offsetof(struct model_row, line),
                  (void **)&ret->rows, &ret->n, err) < 0)
        return -1;
    for (int i = 0; i < ret->n; i++)
        for (int k = 0; k < i; k++)
            if (sl_streq(ret->rows[i].name, ret->rows[k].name)) {
                v.line = ret->rows[i].line;
                return fail_cell(&v, "name", err, "is there twice", ret->rows[i].name);
            }
    return 0;
}

int version_number(const char *text)
{
    char *end;
    long major = strtol(text, &end, 10);
    if (end == text || *end != '.' || end[1] < '0' || end[1] > '9' || major < 0 || major > 999)
        return 0;
    long minor = strtol(end + 1, NULL, 10);
    return minor < 0 || minor > 999 ? 0 : (int)(major * 1000 + minor);
}

static int version_check(struct csv *v, int line, const char *column, const char *cell,
                         struct sl_err *err)
{
    v->line = line;
    if (!*cell || version_number(cell))
        return 0;
    return fail_cell(v, column, err, "is not a version; write 6.4", cell);
}

int catalogue_file_parse(const char *name, const char *text, size_t n, struct sl_arena *arena,
                         struct catalogue_file *ret, struct sl_err *err)
{
    struct csv v;
    *ret = (struct catalogue_file){0};
    if (csv_open(&v, name, text, n, arena, err) < 0 ||
        rows_read(&v, catalogue_columns, sizeof(struct catalogue_row),
                  offsetof(struct catalogue_row, line), (void **)&ret->rows, &ret->n, err) < 0)
        return -1;
    for (int i = 0; i < ret->n; i++) {
        const struct catalogue_row *r = &ret->rows[i];
        if (version_check(&v, r->line, "rocm", r->rocm, err) < 0)
            return -1;
        if (!sl_starts(r->reference, "docker://"))
            return fail_cell(&v, "reference", err, "does not begin with docker://", r->reference);
        for (int k = 0; k < i; k++)
            if (sl_streq(r->name, ret->rows[k].name))
                return fail_cell(&v, "name", err, "is there twice", r->name);
    }
    return 0;
}

int compat_file_parse(const char *name, const char *text, size_t n, struct sl_arena *arena,
                      struct compat_file *ret, struct sl_err *err)
{
    struct csv v;
    *ret = (struct compat_file){0};
    if (csv_open(&v, name, text, n, arena, err) < 0 ||
        rows_read(&v, compat_columns, sizeof(struct compat_row), offsetof(struct compat_row, line),
                  (void **)&ret->rows, &ret->n, err) < 0)
        return -1;
    for (int i = 0; i < ret->n; i++) {
        const struct compat_row *r = &ret->rows[i];
        if (version_check(&v, r->line, "rocm_min", r->rocm_min, err) < 0 ||
            version_check(&v, r->line, "kernel_min", r->kernel_min, err) < 0)
            return -1;
        for (int k = 0; k < i; k++)
            if (sl_streq(r->gfx, ret->rows[k].gfx))
                return fail_cell(&v, "gfx", err, "is there twice", r->gfx);
    }
    return 0;
}

int price_file_read(const char *path, struct sl_arena *arena, const char **ret_text, size_t *ret_n,
                    struct sl_err *err)
{
    SL_AUTO_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return sl_fail(err, errno == ENOENT ? SL_NOT_FOUND : SL_INVALID, "cannot read %s: %s", path,
                       strerror(errno));
    SL_AUTO_BUF struct sl_buf b = SL_BUF(PRICE_FILE_MAX + 1);
    for (;;) {
        char chunk[16384];
        ssize_t got = read(fd, chunk, sizeof chunk);
        if (got < 0)
            return sl_fail(err, SL_INVALID, "cannot read %s: %s", path, strerror(errno));
        if (got == 0)
            break;
        sl_buf_add(&b, chunk, (size_t)got);
    }
    if (b.over || b.n > PRICE_FILE_MAX)
        return sl_fail(err, SL_TOO_LARGE, "%s is larger than %d bytes", path, PRICE_FILE_MAX);
    *ret_text = sl_arena_strndup(arena, sl_buf_str(&b), b.n);
    *ret_n = b.n;
    return 0;
}

const char *price_per_gb(int64_t price_micro, int64_t gb, char out[SL_MONEY_TEXT])
{
    if (gb <= 0) {
        out[0] = 0;
        return out;
    }
    /* thousandths in one rounding; the second step is exact */
    int64_t milli = money_muldiv(price_micro, 1, 1000 * gb);
    return money_format_rounded(milli * 1000, 3, out);
}

int64_t memory_gb_of(int64_t bytes)
{
    return money_muldiv(bytes, 1, 1LL << 30);
}

/* Drivers keep a little of the memory for themselves: 2 % is no difference. */
static bool reported_differs(int64_t reported, int64_t maker)
{
    int64_t off = reported > maker ? reported - maker : maker - reported;
    return reported && maker && off * 50 > maker;
}

const char *price_memory_flag(int64_t told_gb, int64_t maker_gb, int64_t reported_gb,
                              char out[PRICE_FLAG])
{
    int n = 0;
    out[0] = 0;
    if (told_gb && maker_gb && told_gb != maker_gb)
        n = snprintf(out, PRICE_FLAG, "told %lld GB, the maker says %lld GB", (long long)told_gb,
                     (long long)maker_gb);
    if (reported_differs(reported_gb, maker_gb ? maker_gb : told_gb))
        snprintf(out + n, PRICE_FLAG - (size_t)n, "%sthe node reports %lld GB", n ? ", " : "",
                 (long long)reported_gb);
    return out;
}

void price_row_write(struct jw *w, const char *key, const struct price_row *r)
{
    char text[SL_MONEY_TEXT], flag[PRICE_FLAG];
    int64_t told = r->memory_gb_told ? r->memory_gb_told : r->memory_gb;
    jw_object(w, key);
    jw_str(w, "model", r->model);
    jw_str(w, "memory_type", r->memory_type);
    jw_int(w, "memory_gb", r->memory_gb ? r->memory_gb : r->memory_gb_told);
    jw_int(w, "memory_gb_told", told);
    price_memory_flag(r->memory_gb_told, r->memory_gb, 0, flag);
    jw_str(w, "memory_flag", *flag ? flag : NULL);
    jw_money(w, "price", r->price_micro);
    jw_str(w, "currency", r->currency);
    jw_str(w, "unit", r->unit);
    jw_str(w, "price_per_gb", price_per_gb(r->price_micro, told, text));
    jw_str(w, "price_per_gb_true",
           price_per_gb(r->price_micro, r->memory_gb ? r->memory_gb : told, text));
    jw_str(w, "frameworks", r->frameworks);
    jw_str(w, "note", r->note);
    jw_str(w, "offer", r->offer);
    jw_str(w, "source", r->source);
    jw_time(w, "seen", r->seen_us);
    jw_end(w);
}
