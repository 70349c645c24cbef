/* SPDX-License-Identifier: Apache-2.0
 *
 * objects.h: every object that starleased answers with, as a table (schema.h). The OpenAPI
 * document, docs/api.md, the command line's tables and the check of every answer in the API tests
 * are made from these. A field that an answer may leave out is WIRE_OPTIONAL; one that may be null
 * is WIRE_NULLABLE. Whoever changes what a handler writes changes the table in the same commit.
 */
#ifndef WIRE_OBJECTS_H
#define WIRE_OBJECTS_H
#include "wire/schema.h"

extern const struct wire_object wire_problem, wire_health, wire_openapi;
extern const struct wire_object wire_price, wire_stock, wire_model;
extern const struct wire_object wire_account, wire_quota, wire_session, wire_fx, wire_console,
    wire_totp, wire_totp_secret, wire_totp_on, wire_token, wire_key;
extern const struct wire_object wire_trial, wire_identity, wire_trial_grant;
extern const struct wire_object wire_accepted;
extern const struct wire_object wire_wallet, wire_txn, wire_entry, wire_statement;
extern const struct wire_object wire_quote, wire_lease, wire_lease_ssh, wire_lease_step, wire_logs,
    wire_autostop, wire_offer, wire_stop_preview, wire_tariff, wire_snapshot;
extern const struct wire_object wire_record, wire_record_file, wire_volume, wire_image,
    wire_image_progress, wire_node, wire_certificate, wire_operation;
extern const struct wire_object wire_invoice, wire_invoice_line, wire_invoice_party;
extern const struct wire_object wire_voucher, wire_redeemed, wire_payment, wire_refund;
extern const struct wire_object wire_event, wire_public_key, wire_report, wire_audit, wire_check;

/* All of them, NULL-ended: the components of the OpenAPI document. */
extern const struct wire_object *const wire_objects[];
#endif
