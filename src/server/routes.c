/* SPDX-License-Identifier: Apache-2.0
 *
 * routes.c: every call of the HTTP interface, one row each. Whoever owns a noun adds its rows in
 * the noun's block; handlers and request tables are declared in NOUN.h or NOUN_api.h. From this
 * table come dispatch, role checks, OpenAPI, docs/api.md and the API tests (router.h explains the
 * columns).
 */
#include "server/account.h"
#include "server/event.h"
#include "server/identity.h"
#include "server/key.h"
#include "server/metric.h"
#include "server/router.h"
#include "server/system.h"
#include "server/token.h"
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
     .response = &wire_event, .query_doc = "after=SEQ,limit=50",
     .summary = "What happened, as a stream (text/event-stream), or as a list when only JSON is "
                "accepted"},

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
    {"GET", "/v1/account", account_show, .role = ROLE_RENTER, .response = &wire_account,
     .summary = "Your account"},
    {"POST", "/v1/account/identity", identity_create, identity_prepare, ROLE_RENTER,
     ROUTE_IDEMPOTENT, BODY(identity_fields, struct identity_want), .response = &wire_identity,
     .summary = "Verify a phone or a name; brings the trial credit"},
    {"POST", "/v1/account/trial", trial_create, .role = ROLE_RENTER, .flags = ROUTE_IDEMPOTENT,
     .response = &wire_trial_grant, .summary = "Take the trial credit, once"},
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

    /* money */

    /* leases, volumes, images, nodes, operations */

    {0}};
