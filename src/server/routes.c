/* SPDX-License-Identifier: Apache-2.0
 *
 * routes.c: every call of the HTTP interface, one row each. Whoever owns a noun adds its rows in
 * the noun's block; handlers and request tables are declared in NOUN.h or NOUN_api.h. From this
 * table come dispatch, role checks, OpenAPI, docs/api.md and the API tests (router.h explains the
 * columns).
 */
#include "server/account.h"
#include "server/autostop.h"
#include "server/event.h"
#include "server/identity.h"
#include "server/image.h"
#include "server/invoice.h"
#include "server/key.h"
#include "server/lease.h"
#include "server/metric.h"
#include "server/money_api.h"
#include "server/node.h"
#include "server/operation.h"
#include "server/quote.h"
#include "server/router.h"
#include "server/session.h"
#include "server/snapshot.h"
#include "server/stop_api.h"
#include "server/record.h"
#include "server/system.h"
#include "server/tariff.h"
#include "server/token.h"
#include "server/totp.h"
#include "server/volume.h"
#include "wire/objects.h"

#define BODY(table, type) .request = (table), .request_size = sizeof(type)

const struct route routes[] = {
    /* the server itself */
    {"GET", "/v1/health", health_show, .role = ROLE_ANYONE, .response = &wire_health,
     .summary = "Is the server there"},
    {"GET", "/v1/openapi.json", openapi_show, .role = ROLE_ANYONE, .response = &wire_openapi,
     .summary = "This interface as an OpenAPI 3.1 document"},
    {"GET", "/v1/key", public_key_show, .role = ROLE_ANYONE, .response = &wire_public_key,
     .summary = "The key that signs statements and certificates"},
    {"GET", "/metrics", metric_show, .role = ROLE_ANYONE,
     .summary = "Metrics in Prometheus text form; for operators and for callers on this machine"},
    {"GET", "/v1/events", event_list, .role = ROLE_RENTER, .flags = ROUTE_STREAM | ROUTE_LIST,
     .response = &wire_event, .query_doc = "after=SEQ,limit=50,before=SEQ,lease=ID",
     .summary = "What happened, as a stream (text/event-stream), or as a list when only JSON is "
                "accepted; with before or lease: newest first"},

    /* account, token, key */
    {"POST", "/v1/accounts", signup_create, signup_prepare, ROLE_ANYONE,
     BODY(signup_fields, struct signup_want), .response = &wire_account, .after = signup_after,
     .summary = "Sign up; a code is mailed"},
    {"POST", "/v1/accounts/verify", signup_verify, verify_prepare, ROLE_ANYONE,
     BODY(verify_fields, struct verify_want), .response = &wire_account,
     .summary = "Enter the mailed code; opens the account"},
    {"POST", "/v1/accounts/code", signup_code, code_prepare, ROLE_ANYONE,
     BODY(code_fields, struct verify_want), .response = &wire_accepted, .after = signup_after,
     .summary = "Mail a new code; the answer is the same whether the address is known"},
    {"POST", "/v1/sessions", session_create, session_prepare, ROLE_ANYONE,
     BODY(session_fields, struct session_want), .response = &wire_session,
     .summary = "Sign in: a token for e-mail and password"},
    {"GET", "/v1/console", console_show, .role = ROLE_ANYONE, .response = &wire_console,
     .summary = "What a browser begins with: who is signed in, the CSRF value, currency"},
    {"POST", "/v1/console", console_create, console_prepare, ROLE_ANYONE,
     BODY(console_fields, struct console_want), .response = &wire_console,
     .summary = "Sign a browser in: the session is in a cookie that scripts cannot read"},
    {"DELETE", "/v1/console", console_delete, .role = ROLE_RENTER,
     .summary = "Sign the browser out"},
    {"GET", "/v1/account", account_show, .role = ROLE_RENTER, .response = &wire_account,
     .summary = "Your account"},
    {"POST", "/v1/account/identity", identity_create, identity_prepare, ROLE_RENTER,
     ROUTE_IDEMPOTENT, BODY(identity_fields, struct identity_want), .response = &wire_identity,
     .summary = "Verify a phone or a name; brings the trial credit"},
    {"POST", "/v1/account/trial", trial_create, .role = ROLE_RENTER, .flags = ROUTE_IDEMPOTENT,
     .response = &wire_trial_grant, .summary = "Take the trial credit, once"},
    {"GET", "/v1/account/totp", totp_show, .role = ROLE_RENTER, .response = &wire_totp,
     .summary = "Is the second factor on"},
    {"POST", "/v1/account/totp", totp_begin, .role = ROLE_RENTER, .response = &wire_totp_secret,
     .summary = "Begin with a second factor: a secret for an authenticator app"},
    {"POST", "/v1/account/totp/confirm", totp_confirm, totp_prepare, ROLE_RENTER, 0,
     BODY(totp_fields, struct totp_want), .response = &wire_totp_on,
     .summary = "Switch the second factor on by a first code; gives recovery codes"},
    {"POST", "/v1/account/totp/disable", totp_disable, totp_prepare, ROLE_RENTER, 0,
     BODY(totp_fields, struct totp_want), .summary = "Switch the second factor off by a code"},
    {"GET", "/v1/accounts", account_list, .role = ROLE_OPERATOR, .flags = ROUTE_PAGED,
     .response = &wire_account, .query_doc = "email=", .summary = "All accounts"},
    {"GET", "/v1/accounts/{id}", account_show_any, .role = ROLE_OPERATOR, .response = &wire_account,
     .summary = "One account"},
    {"GET", "/v1/tokens", token_list, .role = ROLE_RENTER, .flags = ROUTE_PAGED,
     .response = &wire_token, .summary = "Your tokens, without their secrets"},
    {"POST", "/v1/tokens", token_create, NULL, ROLE_RENTER, ROUTE_IDEMPOTENT,
     BODY(token_fields, struct token_want), .response = &wire_token,
     .summary = "Make a token; its secret is in this answer alone"},
    {"DELETE", "/v1/tokens/{id}", token_revoke, .role = ROLE_RENTER,
     .summary = "Revoke a token, at once"},
    {"GET", "/v1/keys", key_list, .role = ROLE_RENTER, .flags = ROUTE_PAGED, .response = &wire_key,
     .summary = "Your SSH public keys"},
    {"POST", "/v1/keys", key_create, NULL, ROLE_RENTER, ROUTE_IDEMPOTENT,
     BODY(key_fields, struct key_want), .response = &wire_key, .summary = "Add an SSH public key"},
    {"DELETE", "/v1/keys/{id}", key_delete, .role = ROLE_RENTER,
     .summary = "Delete an SSH public key; running instances keep it until they stop"},

    /* catalogue and prices */
    {"GET", "/v1/prices", price_list_get, .role = ROLE_ANYONE, .flags = ROUTE_LIST | ROUTE_CACHED,
     .response = &wire_price, .summary = "The price table: what is in force now, with stock"},
    {"POST", "/v1/prices", price_create, NULL, ROLE_OPERATOR, ROUTE_IDEMPOTENT,
     BODY(price_fields, struct price_want), .response = &wire_price,
     .summary = "A new price version, from now or later on; older ones never change"},
    {"GET", "/v1/tariffs", tariff_list_get, .role = ROLE_ANYONE, .flags = ROUTE_LIST | ROUTE_CACHED,
     .response = &wire_tariff, .summary = "Prices of runs without cards and of disks"},
    {"POST", "/v1/tariffs", tariff_create, NULL, ROLE_OPERATOR, ROUTE_IDEMPOTENT,
     BODY(tariff_fields, struct tariff_want), .response = &wire_tariff,
     .summary = "A new price of a run without cards or of disk; older ones never change"},
    {"GET", "/v1/models", model_list_get, .role = ROLE_ANYONE, .flags = ROUTE_LIST | ROUTE_CACHED,
     .response = &wire_model, .summary = "Card models and their facts"},
    {"POST", "/v1/quotes", quote_create, NULL, ROLE_RENTER, ROUTE_IDEMPOTENT,
     BODY(quote_want_fields, struct quote_want), .response = &wire_quote,
     .summary = "A binding offer: rate, hold and rules; a lease names its id"},
    {"GET", "/v1/quotes/{id}", quote_show, .role = ROLE_RENTER, .response = &wire_quote,
     .summary = "One of your quotes"},

    /* money */
    {"GET", "/v1/wallet", wallet_show, .role = ROLE_RENTER, .response = &wire_wallet,
     .summary = "Your balance, what is held, and how long it lasts"},
    {"GET", "/v1/ledger", ledger_list, .role = ROLE_RENTER, .flags = ROUTE_PAGED,
     .response = &wire_txn, .summary = "Your ledger, oldest first, chained by hashes"},
    {"POST", "/v1/accounts/{id}/topups", topup_create, NULL, ROLE_OPERATOR, ROUTE_IDEMPOTENT,
     BODY(topup_fields, struct topup_want), .response = &wire_txn,
     .summary = "Book a payment; a reference of its own makes it count once"},
    {"GET", "/v1/statements", statement_show, .role = ROLE_RENTER, .response = &wire_statement,
     .query_doc = "from=TIME,to=TIME",
     .summary = "A signed statement that `starlease bill verify` checks offline"},
    {"GET", "/v1/invoices", invoice_list, .role = ROLE_RENTER, .flags = ROUTE_PAGED,
     .response = &wire_invoice, .summary = "Your invoices; an operator sees all"},
    {"POST", "/v1/invoices", invoice_create, NULL, ROLE_RENTER, ROUTE_IDEMPOTENT,
     BODY(invoice_fields, struct invoice_want), .response = &wire_invoice,
     .summary = "Ask for an invoice over what was paid in cash in a period; a draft"},
    {"GET", "/v1/invoices/{id}", invoice_show, .role = ROLE_RENTER, .response = &wire_invoice,
     .summary = "One invoice with its lines"},
    {"POST", "/v1/invoices/{id}/issue", invoice_issue_post, .role = ROLE_OPERATOR,
     .response = &wire_invoice, .summary = "Issue a draft: it gets the next number of the year"},
    {"POST", "/v1/invoices/{id}/reverse", invoice_reverse_post, NULL, ROLE_RENTER, 0,
     BODY(invoice_reason_fields, struct invoice_reason), .response = &wire_invoice,
     .summary = "Ask for the reversal of an invoice; a draft is cancelled at once"},
    {"POST", "/v1/invoices/{id}/confirm", invoice_confirm_post, .role = ROLE_OPERATOR,
     .response = &wire_invoice, .summary = "Confirm a reversal: answers the red letter"},
    {"GET", "/v1/audit/money", audit_money_show, .role = ROLE_OPERATOR, .response = &wire_audit,
     .summary = "Recompute every balance, charge, hold and chain"},

    /* leases, volumes, images, nodes, operations */
    {"POST", "/v1/leases", lease_create_post, NULL, ROLE_RENTER, ROUTE_IDEMPOTENT,
     BODY(lease_create_fields, struct lease_want), .response = &wire_lease,
     .summary = "Start an instance from a quote"},
    {"GET", "/v1/leases", lease_list, NULL, ROLE_RENTER, ROUTE_PAGED, .response = &wire_lease,
     .summary = "List instances", .query_doc = "state=running"},
    {"GET", "/v1/leases/{id}", lease_show, NULL, ROLE_RENTER, ROUTE_WAIT, .response = &wire_lease,
     .summary = "Show an instance, by id or by name"},
    {"POST", "/v1/leases/{id}/stop", lease_stop_post, NULL, ROLE_RENTER, 0, .response = &wire_lease,
     .summary = "Stop an instance; billing ends now, the disk stays"},
    {"POST", "/v1/leases/{id}/start", lease_start_post, NULL, ROLE_RENTER, ROUTE_IDEMPOTENT,
     BODY(lease_start_fields, struct lease_start_want), .response = &wire_lease,
     .summary = "Start a stopped instance again, at its pinned price; or without cards, or by a "
                "new quote"},
    {"GET", "/v1/leases/{id}/stop-preview", lease_stop_preview, NULL, ROLE_RENTER, 0,
     .response = &wire_stop_preview,
     .summary = "What a stop means: stock of its model, cost of its disk, how long it is kept"},
    {"POST", "/v1/leases/{id}/quotes", lease_quote_post, NULL, ROLE_RENTER, ROUTE_IDEMPOTENT,
     BODY(lease_quote_fields, struct lease_quote_want), .response = &wire_quote,
     .summary = "A new quote for a stopped instance: other cards, today's price, the same disk"},
    {"DELETE", "/v1/leases/{id}", lease_delete, NULL, ROLE_RENTER, 0, .response = &wire_lease,
     .summary = "Release a stopped instance; its disk becomes a tombstone"},
    {"POST", "/v1/leases/{id}/autostop", autostop_post, NULL, ROLE_RENTER, 0,
     BODY(autostop_fields, struct autostop_want), .response = &wire_lease,
     .summary = "Timers that stop and delete an instance: TTL, budget, idleness"},
    {"GET", "/v1/leases/{id}/logs", lease_logs, lease_logs_prepare, ROLE_RENTER, 0,
     .response = &wire_logs, .summary = "The tail of the instance's output"},
    {"POST", "/v1/leases/{id}/records", record_create, record_prepare, ROLE_RENTER,
     ROUTE_IDEMPOTENT, BODY(record_fields, struct record_want), .response = &wire_record_file,
     .summary = "Hand in a benchmark record; it comes back signed"},
    {"GET", "/v1/leases/{id}/records", record_list, NULL, ROLE_RENTER, ROUTE_PAGED,
     .response = &wire_record, .summary = "The benchmark records of an instance"},
    {"GET", "/v1/records/{id}", record_show, NULL, ROLE_RENTER, 0, .response = &wire_record_file,
     .summary = "A signed benchmark record"},
    {"GET", "/v1/volumes", volume_list, NULL, ROLE_RENTER, ROUTE_PAGED, .response = &wire_volume,
     .summary = "List disks"},
    {"GET", "/v1/volumes/{id}", volume_show, NULL, ROLE_RENTER, 0, .response = &wire_volume,
     .summary = "Show a disk"},
    {"DELETE", "/v1/volumes/{id}", volume_delete_handler, NULL, ROLE_RENTER, 0,
     .response = &wire_volume,
     .summary = "Delete a disk: a tombstone, or for good with its id as key",
     .query_doc = "purge=VOLUME_ID"},
    {"POST", "/v1/volumes/{id}/grow", volume_grow_post, NULL, ROLE_RENTER, 0,
     BODY(volume_grow_fields, struct volume_grow_want), .response = &wire_volume,
     .summary = "Make a disk larger, while it is used or not; never smaller"},
    {"POST", "/v1/volumes/{id}/snapshots", snapshot_create, NULL, ROLE_RENTER, ROUTE_IDEMPOTENT,
     BODY(snapshot_fields, struct snapshot_want), .response = &wire_snapshot,
     .summary = "Take a snapshot of a stopped instance's disk"},
    {"GET", "/v1/snapshots", snapshot_list, NULL, ROLE_RENTER, ROUTE_PAGED,
     .response = &wire_snapshot, .summary = "List snapshots"},
    {"POST", "/v1/snapshots/{id}/restore", snapshot_restore, NULL, ROLE_RENTER, 0,
     .response = &wire_snapshot,
     .summary = "Put a snapshot back on its disk; what is there now is lost"},
    {"DELETE", "/v1/snapshots/{id}", snapshot_delete, NULL, ROLE_RENTER, 0,
     .response = &wire_snapshot, .summary = "Delete a snapshot"},
    {"GET", "/v1/images", image_list, NULL, ROLE_RENTER, ROUTE_PAGED, .response = &wire_image,
     .summary = "List images: everybody's, yours, and those of the catalogue"},
    {"POST", "/v1/images", image_import_post, NULL, ROLE_OPERATOR, ROUTE_IDEMPOTENT,
     BODY(image_import_fields, struct image_import), .response = &wire_operation,
     .summary = "Import an image on the nodes"},
    {"GET", "/v1/images/{id}", image_show, NULL, ROLE_RENTER, 0, .response = &wire_image,
     .summary = "Show an image, by id or by name"},
    {"DELETE", "/v1/images/{id}", image_delete, NULL, ROLE_RENTER, 0, .response = &wire_image,
     .summary = "Remove an image that no instance uses: your own, or any as operator"},
    {"POST", "/v1/leases/{id}/images", image_save_post, NULL, ROLE_RENTER, ROUTE_IDEMPOTENT,
     BODY(image_save_fields, struct image_save), .response = &wire_operation,
     .summary = "Save a stopped instance as an image of your own"},
    {"GET", "/v1/nodes", node_list, NULL, ROLE_OPERATOR, ROUTE_PAGED, .response = &wire_node,
     .summary = "List nodes"},
    {"POST", "/v1/nodes", node_enrol_post, node_enrol_prepare, ROLE_OPERATOR, ROUTE_IDEMPOTENT,
     BODY(node_enrol_fields, struct node_enrol_body), .response = &wire_node,
     .summary = "Enrol a node by its agent's address; it is probed before it is rented"},
    {"GET", "/v1/nodes/{name}", node_show, NULL, ROLE_OPERATOR, 0, .response = &wire_node,
     .summary = "Show a node"},
    {"POST", "/v1/nodes/{name}/drain", node_drain, NULL, ROLE_OPERATOR, 0, .response = &wire_node,
     .summary = "Give it no new lease; what runs stays"},
    {"POST", "/v1/nodes/{name}/resume", node_resume, NULL, ROLE_OPERATOR, 0, .response = &wire_node,
     .summary = "Test a drained or quarantined node and rent it again"},
    {"POST", "/v1/nodes/{name}/retire", node_retire, NULL, ROLE_OPERATOR, 0, .response = &wire_node,
     .summary = "Take an empty node out of service"},
    {"GET", "/v1/certificates", certificate_list, NULL, ROLE_OPERATOR, ROUTE_PAGED,
     .response = &wire_certificate, .summary = "List wipe certificates", .query_doc = "node=NAME"},
    {"GET", "/v1/operations", operation_list, NULL, ROLE_RENTER, ROUTE_PAGED,
     .response = &wire_operation, .summary = "List operations", .query_doc = "ref=ID"},
    {"GET", "/v1/operations/{id}", operation_show, NULL, ROLE_RENTER, 0,
     .response = &wire_operation, .summary = "Show an operation"},
    {"POST", "/v1/agent/report", lease_report_post, NULL, ROLE_LEASE, 0,
     BODY(lease_report_fields, struct lease_report), .response = &wire_report,
     .summary = "A report of an instance's supervisor"},

    {0}};
