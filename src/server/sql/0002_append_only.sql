-- SPDX-License-Identifier: Apache-2.0
-- 0002: rows that are written once (dialect file: SQLite's triggers). Ledger, prices, events and closed
-- segments cannot be changed or deleted, not even by hand, without dropping a trigger.

CREATE TRIGGER txn_no_update BEFORE UPDATE ON txn BEGIN SELECT RAISE(ABORT, 'txn is append-only'); END;
CREATE TRIGGER txn_no_delete BEFORE DELETE ON txn BEGIN SELECT RAISE(ABORT, 'txn is append-only'); END;
CREATE TRIGGER entry_no_update BEFORE UPDATE ON entry BEGIN SELECT RAISE(ABORT, 'entry is append-only'); END;
CREATE TRIGGER entry_no_delete BEFORE DELETE ON entry BEGIN SELECT RAISE(ABORT, 'entry is append-only'); END;
CREATE TRIGGER price_version_no_update BEFORE UPDATE ON price_version
BEGIN SELECT RAISE(ABORT, 'price_version is append-only'); END;
CREATE TRIGGER price_version_no_delete BEFORE DELETE ON price_version
BEGIN SELECT RAISE(ABORT, 'price_version is append-only'); END;
CREATE TRIGGER event_no_update BEFORE UPDATE ON event BEGIN SELECT RAISE(ABORT, 'event is append-only'); END;
CREATE TRIGGER event_no_delete BEFORE DELETE ON event BEGIN SELECT RAISE(ABORT, 'event is append-only'); END;
CREATE TRIGGER trial_grant_no_update BEFORE UPDATE ON trial_grant
BEGIN SELECT RAISE(ABORT, 'trial_grant is append-only'); END;
CREATE TRIGGER trial_grant_no_delete BEFORE DELETE ON trial_grant
BEGIN SELECT RAISE(ABORT, 'trial_grant is append-only'); END;
CREATE TRIGGER segment_closed BEFORE UPDATE ON segment WHEN OLD.end_us <> 0
BEGIN SELECT RAISE(ABORT, 'a closed segment does not change'); END;
CREATE TRIGGER segment_pinned BEFORE UPDATE OF id, lease_id, account_id, seq, epoch, start_us, model, gpus, rate_micro, currency,
  price_version_id, node_name, gpu_mask ON segment
BEGIN SELECT RAISE(ABORT, 'what a segment bills is fixed when it starts'); END;
CREATE TRIGGER segment_no_delete BEFORE DELETE ON segment BEGIN SELECT RAISE(ABORT, 'segment is append-only'); END;
