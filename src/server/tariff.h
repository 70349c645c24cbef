/* SPDX-License-Identifier: Apache-2.0
 *
 * tariff.h: prices of what is no card: `cpu`, an hour of a run without cards, and `disk`, a GB for
 * a month of 30 days. Immutable rows like price versions; a run and a disk keep the row that they
 * began with. Where no row was ever made the price is 0, and a row that says so is made when
 * something is to be pinned to it.
 *
 *     tariff_get(c, TARIFF_DISK, "CNY", now, &t, err);      t.price_micro per GB and month
 */
#ifndef SERVER_TARIFF_H
#define SERVER_TARIFF_H
#include "server/router.h"
#include "wire/price_file.h"

enum tariff_kind { TARIFF_CPU, TARIFF_DISK, TARIFF_KIND_MAX };
extern const char *const tariff_names[TARIFF_KIND_MAX + 1]; /* NULL-ended */

struct tariff {
    char id[ID_TEXT], currency[4], note[200], source[200]; /* id "": the default, not stored yet */
    enum tariff_kind kind;
    int64_t price_micro, effective_us, created_us;
};
int tariff_get(struct db_c *c, enum tariff_kind kind, const char *currency, int64_t t_us,
               struct tariff *ret, struct sl_err *err);
int tariff_by_id(struct db_c *c, const char *id, struct tariff *ret, struct sl_err *err);
/* The row in force now, made when there is none. */
int tariff_pin(struct db_c *c, struct server *s, enum tariff_kind kind, const char *currency,
               struct tariff *ret, struct sl_err *err);
/* A new row. effective_us 0: now, or for a higher price after conf prices.notice; earlier than that
 * is SL_INVALID. Fills id and times. */
int tariff_add(struct db_c *c, struct server *s, struct tariff *t, const char *actor,
               struct sl_err *err);
/* Rows of a price file with unit instance_hour or gb_month; a (kind, currency) that has any row is
 * left alone. */
int tariff_import(struct db_c *c, struct server *s, const struct price_file *file,
                  const char *source, struct sl_err *err);

struct tariff_want {
    const char *kind, *currency, *note, *source;
    int64_t price_micro, effective_us;
};
extern const struct jr_field tariff_fields[];
handler_fn tariff_list_get, tariff_create;
#endif
