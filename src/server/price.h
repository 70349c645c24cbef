/* SPDX-License-Identifier: Apache-2.0
 *
 * price.h: price versions. Immutable rows {model, price per GPU-hour, currency, effective_us}; the
 * price in force at t is the one with the greatest effective_us <= t. A new price is a new row; the
 * past is never rewritten: only the import of the first price file may give a time before now. A
 * lease keeps the version that its quote named.
 *
 *     struct price p;
 *     if (price_in_force(c, "MI300X", "CNY", env_now(s->env), arena, &p, err) < 0) return -1;
 */
#ifndef SERVER_PRICE_H
#define SERVER_PRICE_H
#include "server/server.h"
#include "wire/price_file.h"

struct price { /* strings live in the arena that was passed */
    char id[ID_TEXT];
    const char *model, *frameworks, *note, *source;
    char currency[4];
    int64_t price_micro;    /* per GPU-hour */
    int64_t memory_gb_told; /* 0: not told */
    int64_t effective_us, created_us;
};

/* SL_NOT_FOUND when the model has no price in that currency at t_us. */
int price_in_force(struct db_c *c, const char *model, const char *currency, int64_t t_us,
                   struct sl_arena *arena, struct price *ret, struct sl_err *err);
int price_get(struct db_c *c, const char *price_id, struct sl_arena *arena, struct price *ret,
              struct sl_err *err);
/* A new version. effective_us 0 = as soon as it may be: now, or for a higher price than the one it
 * follows after conf prices.notice. Earlier than that is SL_INVALID, the same instant twice
 * SL_CONFLICT, an unknown model SL_NOT_FOUND. Fills p->id, effective_us and created_us. */
int price_add(struct db_c *c, struct server *s, struct price *p, const char *actor,
              struct sl_err *err);
/* The rows of a price file at bootstrap. A (model, currency) that has any version already is left
 * alone, so a restart changes nothing. Rows of a file with several offers per model take the first.
 * `source` is the file's name; effective is the row's date, else now. */
int price_import(struct db_c *c, struct server *s, const struct price_file *file,
                 const char *source, int64_t *ret_added, struct sl_err *err);
/* All prices in force now, one per model and currency; *ret is an arena array. */
int price_list(struct db_c *c, int64_t t_us, struct sl_arena *arena, struct price **ret, int *ret_n,
               struct sl_err *err);
#endif
