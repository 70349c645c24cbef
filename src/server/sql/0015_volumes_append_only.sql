-- SPDX-License-Identifier: Apache-2.0
-- 0015: what disks cost is written once (dialect file: SQLite's triggers).

CREATE TRIGGER tariff_no_update BEFORE UPDATE ON tariff BEGIN SELECT RAISE(ABORT, 'tariff is append-only'); END;
CREATE TRIGGER tariff_no_delete BEFORE DELETE ON tariff BEGIN SELECT RAISE(ABORT, 'tariff is append-only'); END;
CREATE TRIGGER volume_segment_closed BEFORE UPDATE ON volume_segment WHEN OLD.end_us <> 0
BEGIN SELECT RAISE(ABORT, 'a closed segment does not change'); END;
CREATE TRIGGER volume_segment_pinned BEFORE UPDATE OF id, volume_id, account_id, seq, start_us, gb, rate_micro, currency, tariff_id
  ON volume_segment BEGIN SELECT RAISE(ABORT, 'what a segment bills is fixed when it starts'); END;
CREATE TRIGGER volume_segment_no_delete BEFORE DELETE ON volume_segment
BEGIN SELECT RAISE(ABORT, 'volume_segment is append-only'); END;
