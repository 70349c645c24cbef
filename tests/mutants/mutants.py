# SPDX-License-Identifier: Apache-2.0
"""The planted faults: (name, file, line as it is, line with the fault, tests that must notice)."""

MONEY = ["test_base", "test_meter", "test_wallet", "test_bill"]
LEASE = ["test_lease", "test_placement"]
BUNDLE = ["test_bundle"]
IMAGES = ["test_registry", "test_image"]
SESSION = ["test_session.py"]

MUTANTS = [
    # ---- money ----
    ("charge-truncates", "src/base/core/money.c", "__int128 half = den / 2;", "__int128 half = 0;", MONEY),
    ("hour-is-3599-seconds", "src/base/core/money.c", "return money_muldiv(rate_micro_per_hour, seconds, 3600);",
     "return money_muldiv(rate_micro_per_hour, seconds, 3599);", MONEY),
    ("one-second-too-many-funded", "src/base/core/money.c", "return t > INT64_MAX / 4 ? INT64_MAX / 4 : (int64_t)t;",
     "return t > INT64_MAX / 4 ? INT64_MAX / 4 : (int64_t)t + 1;", MONEY),
    ("second-segment-may-overlap", "src/server/meter.c", "start_us = most(start_us, most(last.end_us, last.start_us + 1));",
     "start_us = most(start_us, last.start_us + 1);", MONEY),
    ("capture-forgets-what-was-captured", "src/server/meter.c", "due = money_charge(g->rate_micro, to_s) - g->captured_micro;",
     "due = money_charge(g->rate_micro, to_s - g->captured_s);", MONEY),
    ("lost-host-is-not-refunded", "src/server/meter.c", "if (whole < g.captured_s) {", "if (whole < 0) {", MONEY),
    ("stop-keeps-the-hold", "src/server/meter.c", "return rc < 0 ? -1 : wallet_release(c, s, lease_id, err);", "return rc < 0 ? -1 : 0;",
     MONEY + LEASE),
    ("cash-is-spent-before-credit", "src/server/wallet.c", "d_credit = least(more, w.credit); /* credit is spent first */",
     "d_credit = more - least(more, w.cash);", MONEY),
    ("hold-ignores-what-is-free", "src/server/wallet.c", "if (more > wallet_available(&w))", "if (more > wallet_available(&w) + 1)", MONEY),
    ("trial-twice-for-one-person", "src/server/wallet.c",
     "\"SELECT COUNT(*) FROM trial_grant WHERE identity_hash = ?1 OR account_id = ?2\",",
     "\"SELECT COUNT(*) FROM trial_grant WHERE identity_hash = ?1 AND account_id = ?2\",", MONEY),
    ("chain-skips-the-amounts", "src/server/ledger.c", "(struct bill_entry){kind_names[postings[i].kind], postings[i].amount_micro};",
     "(struct bill_entry){kind_names[postings[i].kind], 0};", MONEY),
    # ---- leases ----
    ("starting-is-billed", "src/server/lifecycle.c", "SM_TO(LEASE_RUNNING) | SM_TO(LEASE_STOPPING),                    false, 300, LEASE_STOPPING},",
     "SM_TO(LEASE_RUNNING) | SM_TO(LEASE_STOPPING),                    true, 300, LEASE_STOPPING},", LEASE),
    ("silence-is-billed", "src/server/lease.c", "return now - last <= 2 * s->conf.heartbeat_s * SL_SEC ? now : last;", "return now - last <= 2 * s->conf.heartbeat_s * SL_SEC ? now : now;", LEASE),
    ("stale-epoch-is-heard", "src/server/lease_report.c", "if (rep->epoch != l->epoch)", "if (rep->epoch > l->epoch)", LEASE),
    ("foreign-lease-is-shown", "src/server/lease.c", "if (rc == 0 || (account_id && !sl_streq(account_id, ret->account_id)))", "if (rc == 0)", LEASE),
    ("wiped-cards-are-not-needed", "src/server/node.c",
     "\"UPDATE node SET leased_mask = leased_mask & ~?2, sanitize_mask = sanitize_mask | ?2 \"",
     "\"UPDATE node SET leased_mask = leased_mask & ~?2, free_mask = free_mask | ?2 \"", LEASE),
    ("quota-is-one-too-many", "src/server/quota.c", "if (more <= 0 || used + more <= max)", "if (more <= 0 || used + more <= max + 1)", LEASE),
    # ---- placement ----
    ("spread-instead-of-pack", "src/server/placement.c", "return a->stranded < b->stranded;", "return a->stranded > b->stranded;", LEASE),
    ("card-is-leased-twice", "src/server/node.c", "\"WHERE name = ?1 AND (free_mask & ?2) = ?2 AND (account_id IS NULL OR account_id = \"",
     "\"WHERE name = ?1 AND ?2 = ?2 AND (account_id IS NULL OR account_id = \"", LEASE),
    ("worst-connected-cards", "src/server/placement.c", "if (best->mask && p.inside > best->inside)", "if (best->mask && p.inside < best->inside)", LEASE),
    # ---- the container's configuration ----
    ("devices-are-open", "src/agent/bundle.c", "device_rule(w, false, -1, -1, \"rwm\");", "device_rule(w, true, -1, -1, \"rwm\");", BUNDLE),
    ("privileges-may-grow", "src/agent/bundle.c", "jw_bool(w, \"noNewPrivileges\", true);", "jw_bool(w, \"noNewPrivileges\", false);", BUNDLE),
    ("host-user-namespace", "src/agent/bundle.c", "{\"pid\", \"network\", \"ipc\", \"uts\", \"mount\", \"user\", \"cgroup\"}",
     "{\"pid\", \"network\", \"ipc\", \"uts\", \"mount\", \"cgroup\"}", BUNDLE),
    ("shared-drive-with-devices", "src/agent/bundle.c", "rw[] = {\"bind\", \"rw\", \"nosuid\", \"nodev\", NULL};",
     "rw[] = {\"bind\", \"rw\", \"nosuid\", NULL};", BUNDLE),
    ("gpu-nodes-may-be-made", "src/agent/bundle.c", "device_rule(w, true, b->devices->v[i].major, b->devices->v[i].minor, \"rw\");",
     "device_rule(w, true, b->devices->v[i].major, b->devices->v[i].minor, \"rwm\");", BUNDLE),
    # ---- images ----
    ("redirect-to-the-machine-itself", "src/agent/registry_text.c", "if (to.loopback && !from.loopback)", "if (to.loopback && !from.tls)", IMAGES),
    ("token-goes-to-every-host", "src/agent/registry_text.c", "*ret_same = to.tls == from.tls && strcasecmp(to.host, from.host) == 0;",
     "*ret_same = to.tls == from.tls;", IMAGES),
    ("one-manifest-is-two-images", "src/agent/registry_text.c", "if (layers == manifests)", "if (!layers && !manifests)", IMAGES),
    ("blobs-without-a-bound", "src/agent/registry_text.c", "b.size > bytes_max - sum", "b.size > bytes_max", IMAGES),
    ("own-image-is-everybodys", "src/server/image.c", "WHERE name = ?1 AND account_id = ''\";", "WHERE name = ?1 AND ?1 = ?1\";", IMAGES),
    ("old-rocm-is-not-flagged", "src/server/image_catalogue.c", "version_number(rocm) < version_number(n->rocm_min)",
     "version_number(rocm) <= 0", IMAGES),
    ("password-in-clear", "src/server/image_work.c", "secret_seal(key, pair, n, sealed);", "snprintf(sealed, n + 1, \"%s\", pair);", IMAGES),
    # ---- the console ----
    ("any-csrf-value-will-do", "src/server/session.c", "if (r->csrf && strlen(r->csrf) == CSRF_TEXT - 1 && bytes_equal(r->csrf, want, CSRF_TEXT - 1))",
     "if (r->csrf)", SESSION),
    ("a-session-writes-for-a-reader", "src/server/session.c", "want.scopes = who.read_only ? \"read\" : \"read,write\";", "want.scopes = \"read,write\";", SESSION),
    ("a-code-counts-twice", "src/server/totp.c", "if (!bytes_equal(digits, code, 6) || at <= f->last_step)", "if (!bytes_equal(digits, code, 6))", SESSION),
    ("bearer-tokens-in-cookies", "src/server/auth.c", "if (sl_starts(authorization + 7, \"sls_\") && person(c, s, authorization + 7, ret, err) == 0)",
     "if (person(c, s, authorization + 7, ret, err) == 0)", SESSION),
]
