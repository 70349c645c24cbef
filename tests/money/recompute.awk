# SPDX-License-Identifier: Apache-2.0
# Recomputes a statement's CSV with nothing of ours: every line's rate from price and cards, every charge
# from rate and seconds. Prints the total; exits 1 at the first line that differs.
#     awk -f recompute.awk statement.csv
# Amounts are whole micro-units; awk counts exactly up to 2^53, which is 9e9 currency units.
function round_half_up(x, d,    q, r) { r = x % d; q = (x - r) / d; return 2 * r >= d ? q + 1 : q }
function charge(rate, s,    h) { h = (s - s % per) / per; return rate * h + round_half_up(rate * (s % per), per) }
BEGIN { FS = "," }
NR == 1 { for (i = 1; i <= NF; i++) col[$i] = i; next }
{
    rate = $col["rate_micro"]; per = $col["per_s"]; from = $col["from_s"]; to = $col["to_s"]
    if (rate != $col["price_micro"] * $col["gpus"]) { print "line " NR ": rate " rate; bad = 1; exit 1 }
    want = charge(rate, to) - charge(rate, from)
    if (want != $col["charge_micro"]) { print "line " NR ": " $col["charge_micro"] ", recomputed " want; bad = 1; exit 1 }
    if ($col["end_us"] > 0) {
        us = $col["end_us"] - $col["start_us"]; whole = (us - us % 1000000) / 1000000
        if (charge(rate, whole) != charge(rate, to)) { print "line " NR ": lasted " whole " s, charged " to " s"; bad = 1; exit 1 }
    }
    total += want; lines++
}
END { if (!bad) printf "%d lines, %.0f\n", lines, total }
