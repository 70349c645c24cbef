#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# demo.sh: the whole story on this machine, as root: price table, sign-up, trial credit, quote, an instance with
# SSH, work on the shared drive, stop, a second instance that sees the files, the statement and its verification.
#
#     scripts/demo.sh          run it; what an earlier run left is used again; the server stays up
#     scripts/demo.sh stop     stop the server and the agent of the demo
#     scripts/demo.sh clean    stop, and delete everything the demo made
#
# Everything lies in demo-data/ of this tree (and in a directory under /run while it runs). Nothing outside is
# changed except the system user `starlease`, which the control plane runs as. DEMO_DATA, DEMO_RUN, DEMO_BRIDGE,
# DEMO_NET and DEMO_PORT_BASE move it, so that a test can run beside a demo that is up.
set -euo pipefail
cd "$(dirname "$0")/.."
TREE=$PWD
BUILD=$(realpath "${BUILD:-build}")
DATA=${DEMO_DATA:-$TREE/demo-data}
RUN=${DEMO_RUN:-/run/starlease-demo}
USER_NAME=starlease
NODE=demo-node
IMAGE=debian-small
EMULATED=${DEMO_TOPOLOGY:-mi300x-8gpu-spx-synthetic}
PORT_BASE=${DEMO_PORT_BASE:-22800}
NET=${DEMO_NET:-10.89.0.0/16}
BRIDGE=${DEMO_BRIDGE:-sldemo}

now_us() { echo "${EPOCHREALTIME/[.,]/}"; }
BEGIN=$(now_us)
STEPS=()
STEP=''
STEP_US=$BEGIN
seconds() { printf '%d.%02d' $(($1 / 1000000)) $(($1 % 1000000 / 10000)); }
end_step() {
    local t
    t=$(now_us)
    [ -z "$STEP" ] || STEPS+=("$(seconds $((t - STEP_US)))|$STEP")
    STEP_US=$t
    STEP=''
}
step() {
    end_step
    STEP=$1
    printf '\n== %s\n' "$1"
}
die() {
    echo "demo: $*" >&2
    exit 1
}
# Shows a command of the renter (or of the operator) and runs it.
say_run() {
    local word line=
    for word in "$@"; do
        case $word in *[!A-Za-z0-9_./:=@,+%-]* | '') line+=" '$word'" ;; *) line+=" $word" ;; esac
    done
    echo "\$ starlease$line"
}
renter() { STARLEASE_CONFIG=$DATA/client/config "$BUILD/starlease" "$@"; }
operator() { STARLEASE_CONFIG=$DATA/operator/config "$BUILD/starlease" "$@"; }
show_renter() {
    say_run "$@"
    renter "$@"
}
show_operator() {
    say_run "$@"
    operator "$@"
}
# json PATH: a member of the JSON on standard input, "a.b.0"
json() {
    python3 -c 'import json, sys
v = json.load(sys.stdin)
for k in sys.argv[1].split("."):
    v = v[int(k)] if k.isdigit() else v[k]
print(v)' "$1"
}

# ---- processes, by pid file alone: "PID STARTTIME", so that a reused pid is never hit ----
start_time() { sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d' ' -f20; }
alive() {
    local pid started
    [ -r "$1" ] && read -r pid started <"$1" || return 1
    [ -n "$started" ] && [ "$(start_time "$pid")" = "$started" ]
}
launch() { # NAME COMMAND...
    local name=$1
    shift
    setsid "$@" >>"$DATA/$name.log" 2>&1 </dev/null &
    echo "$! $(start_time $!)" >"$DATA/$name.pid"
}
terminate() {
    local pid _ i
    alive "$DATA/$1.pid" || return 0
    read -r pid _ <"$DATA/$1.pid"
    kill -TERM "$pid" 2>/dev/null || true
    for ((i = 0; i < 300; i++)); do
        alive "$DATA/$1.pid" || return 0
        sleep 0.1
    done
    kill -KILL "$pid" 2>/dev/null || true
}
wait_until() { # SECONDS WHAT COMMAND...
    local limit=$(($1 * 10)) what=$2 i
    shift 2
    for ((i = 0; i < limit; i++)); do
        "$@" >/dev/null 2>&1 && return 0
        sleep 0.1
    done
    die "waited too long for $what; see $DATA/*.log"
}

end_leases() {
    local id
    alive "$DATA/starleased.pid" || return 0
    [ -e "$DATA/client/config" ] || return 0
    for id in $(renter ps -o json 2>/dev/null | python3 -c 'import json, sys
for l in json.load(sys.stdin)["items"]: print(l["id"])' 2>/dev/null); do
        renter rm --yes "$id" >/dev/null 2>&1 || true
    done
}
stop_all() {
    end_leases
    terminate starleased
    terminate agentd
}

# ---- preparation ----
prepare() {
    [ "$(id -u)" = 0 ] || die "run it as root: containers, mounts and a bridge are made"
    local p
    for p in starleased starlease starlease-agentd; do
        [ -x "$BUILD/$p" ] || die "$BUILD/$p is missing: run make demo"
    done
    getent passwd $USER_NAME >/dev/null || useradd --system --user-group --home-dir /nonexistent \
        --no-create-home --shell /usr/sbin/nologin $USER_NAME
    mkdir -p "$DATA"
    # The control plane's user must be able to reach its files; a clone under /root cannot be entered.
    if ! setpriv --reuid=$USER_NAME --regid=$USER_NAME --clear-groups test -x "$DATA"; then
        [ "$DATA" = "$TREE/demo-data" ] || die "$USER_NAME cannot enter $DATA"
        local other
        other=/var/lib/starlease-demo-$(echo "$TREE" | sha256sum | cut -c1-12)
        [ -L "$TREE/demo-data" ] || rmdir "$TREE/demo-data"
        mkdir -p "$other"
        ln -sfn "$other" "$TREE/demo-data"
        DATA=$other
        echo "$USER_NAME cannot enter $TREE: data is in $DATA (demo-data points there)"
    fi
    mkdir -p "$DATA/client" "$DATA/operator" "$DATA/server" "$DATA/mail" "$DATA/prices" "$DATA/agent"
    chmod 700 "$DATA/client" "$DATA/operator" "$DATA/agent"
    cp "$TREE"/prices/*.csv "$TREE"/images/*.csv "$DATA/prices/"
    chown -R $USER_NAME:$USER_NAME "$DATA/server" "$DATA/mail"
}

has_gpus() { grep -qs '^simd_count [1-9]' /sys/class/kfd/kfd/topology/nodes/*/properties; }

# One demo at a time: bridge, ports and /run are the machine's.
only_one() {
    local other
    other=$(cat "$RUN/tree" 2>/dev/null || true)
    if [ -n "$other" ] && [ "$other" != "$TREE" ] && alive "$other/demo-data/agentd.pid"; then
        die "the demo of $other is running: stop it there first (make demo-stop)"
    fi
    mkdir -p "$RUN"
    echo "$TREE" >"$RUN/tree"
}

start_agent() {
    local emulate=()
    if has_gpus; then
        echo "this machine's GPUs are used"
    else
        rm -rf "$DATA/kfd"
        mkdir -p "$DATA/kfd"
        tar -xJf "$TREE/tests/data/kfd/$EMULATED.tar.xz" -C "$DATA/kfd"
        emulate=(--emulate --kfd-root "$DATA/kfd/$EMULATED")
        echo "no AMD GPU here: the topology $EMULATED stands in, and everything says emulated"
    fi
    launch agentd "$BUILD/starlease-agentd" --state "$DATA/agent" --run "$RUN" --socket "$RUN/agent.sock" \
        --node $NODE --bridge "$BRIDGE" --subnet "$NET" --allow-uid "$(id -u $USER_NAME)" "${emulate[@]}"
    wait_until 30 "the agent's socket" test -S "$RUN/agent.sock"
}

free_port() {
    local p
    for ((p = 7070; p < 7170; p++)); do
        ss -Hltn "sport = :$p" | grep -q . || break
    done
    echo $p
}
start_server() {
    rm -f "$DATA/client/config" # every run signs up a new renter
    PORT=$(free_port)
    URL=http://127.0.0.1:$PORT
    cat >"$DATA/starleased.conf" <<CONF
[server]
listen = 127.0.0.1:$PORT
user = $USER_NAME
data_dir = $DATA/server
public_url = $URL
[mail]
spool = $DATA/mail
[node]
ssh_host = 127.0.0.1
port_base = $PORT_BASE
[prices]
files = $DATA/prices/seed.csv
models = $DATA/prices/models.csv
[images]
catalogue = $DATA/prices/catalogue.csv
compatibility = $DATA/prices/compatibility.csv
CONF
    launch starleased "$BUILD/starleased" --conf "$DATA/starleased.conf"
    wait_until 30 "the server" renter --url "$URL" api GET /v1/health
    echo "$URL, as user $(ps -o user= -p "$(cut -d' ' -f1 "$DATA/starleased.pid")"), data in $DATA/server"
}

setup_operator() {
    if ! operator --url "$URL" api GET /v1/account >/dev/null 2>&1; then
        "$BUILD/starleased" --conf "$DATA/starleased.conf" --create-operator operator@example.com 2>>"$DATA/starleased.log" |
            grep -o 'slk_[0-9a-f]*' | operator login --token --url "$URL" >/dev/null ||
            die "no operator token: see $DATA/starleased.log"
    fi
    operator node show $NODE >/dev/null 2>&1 || show_operator node enrol "unix:$RUN/agent.sock"
    case $(operator node show $NODE -o json | json state) in
    quarantined | draining) show_operator node resume $NODE ;; # an earlier run failed on it
    esac
    wait_until 60 "the node" node_available
    show_operator node list
    MODEL=$(operator node show $NODE -o json | json model)
    FIRST=$(operator node show $NODE -o json | json cards)
    [ "$FIRST" -lt 2 ] || FIRST=2
    priced || show_operator api POST /v1/prices \
        --body "{\"model\":\"$MODEL\",\"price\":\"2.00\",\"currency\":\"CNY\",\"source\":\"demo: the price file has none\"}"
    image_available || show_operator image import $IMAGE "$DATA/$IMAGE.tar"
}
image_available() {
    operator image list -o json | python3 -c 'import json, sys
items = json.load(sys.stdin)["items"]
sys.exit(not any(i["name"] == sys.argv[1] and i["state"] == "available" for i in items))' "$IMAGE"
}
priced() {
    operator price list -o json | python3 -c 'import json, sys
items = json.load(sys.stdin)["items"]
sys.exit(not any(i["model"] == sys.argv[1] and i["currency"] == "CNY" for i in items))' "$MODEL"
}
node_available() { [ "$(operator node show $NODE -o json | json state)" = available ]; }

build_image() {
    if [ -s "$DATA/$IMAGE.tar" ]; then
        echo "$DATA/$IMAGE.tar is there"
        return
    fi
    "$TREE/images/debian-small.sh" "$DATA/new.$IMAGE.tar"
    mv "$DATA/new.$IMAGE.tar" "$DATA/$IMAGE.tar"
    ls -lh "$DATA/$IMAGE.tar"
}

# ---- the story ----
mailed_code() { # the code in the newest mail to this address
    local f
    f=$(grep -ls "^To: .*$EMAIL" "$DATA"/mail/*.eml | xargs -r ls -t | head -1)
    [ -n "$f" ] && grep -oE '\b[0-9]{6,10}\b' <(sed '1,/^\r\{0,1\}$/d' "$f") | head -1
}
have_code() { [ -n "$(mailed_code)" ]; }

sign_up() {
    EMAIL=demo-$(date -u +%Y%m%d%H%M%S)@example.com
    STARLEASE_PASSWORD=$(head -c 18 /dev/urandom | base64)
    export STARLEASE_PASSWORD STARLEASE_URL=$URL
    show_renter signup "$EMAIL"
    wait_until 20 "the mail" have_code
    echo "(the mail lies in $DATA/mail: code $(mailed_code))"
    show_renter verify "$EMAIL" "$(mailed_code)" | grep -E '^(Account|State)'
    show_renter login "$EMAIL" --url "$URL"
    unset STARLEASE_PASSWORD STARLEASE_URL
    show_renter trial
    [ -e "$DATA/client/id_ed25519" ] || ssh-keygen -q -t ed25519 -N '' -C demo -f "$DATA/client/id_ed25519"
    show_renter key add "$DATA/client/id_ed25519.pub"
}
SSH_KEY=("-i" "$DATA/client/id_ed25519")

work() {
    show_renter exec "${SSH_KEY[@]}" first sh -c 'uname -n; id -un; ls /dev/kfd /dev/dri 2>/dev/null; df -h / /shared | tail -2'
    show_renter cp "${SSH_KEY[@]}" scripts/demo-job.pl first:/root
    show_renter exec "${SSH_KEY[@]}" first perl /root/demo-job.pl --report /shared/first-metric
    wait_until 20 "the metric at the control plane" has_metric
    METRIC=$(renter show first -o json)
    NONCE=$(json nonce <<<"$METRIC") SHA=$(json metric.sha256 <<<"$METRIC") VALUE=$(json metric.value <<<"$METRIC")
    [ "$(perl scripts/demo-job.pl "$NONCE" | sha256sum | cut -d' ' -f1)" = "$SHA" ] ||
        die "the metric cannot be reproduced here from the nonce"
    echo "the control plane has the metric; the same job here, from its nonce $NONCE, gives the same SHA-256"
}
has_metric() { renter show first -o json | json metric.sha256; }

# A record that a stranger can recompute: seeded by the lease's nonce, signed by the control plane.
benchmark() {
    show_renter bench run --in first "${SSH_KEY[@]}" --repeats 5 --warmup 1 --figure 'time ' \
        --out "$DATA/client/bench.json" kernel perl /root/demo-job.pl --bench
    show_renter bench verify "$DATA/client/bench.json"
}
# The same with PyTorch: ResNet-50 on the processor, in an image with Debian's python3-torch (make demo TORCH=1).
torch_benchmark() {
    [ -s "$DATA/torch-cpu.tar" ] || {
        "$TREE/images/torch-cpu.sh" "$DATA/new.torch-cpu.tar"
        mv "$DATA/new.torch-cpu.tar" "$DATA/torch-cpu.tar"
    }
    IMAGE=torch-cpu image_available || show_operator image import torch-cpu "$DATA/torch-cpu.tar"
    show_renter run --yes --gpu "$MODEL:1" --name torch --disk 20 torch-cpu
    show_renter bench run --in torch "${SSH_KEY[@]}" --batch 4 --image 64 --steps 5 --warmup 1 --repeats 2 \
        --out "$DATA/client/bench-resnet50.json" resnet50
    show_renter bench verify "$DATA/client/bench-resnet50.json"
    show_renter stop torch
    show_renter rm --yes torch
}

second_instance() {
    show_renter run --yes --gpu "$MODEL:1" --name second $IMAGE
    show_renter exec "${SSH_KEY[@]}" second ls -l /shared/first-metric
    local seen
    seen=$(renter exec "${SSH_KEY[@]}" second sha256sum /shared/first-metric/figures.txt | cut -d' ' -f1)
    [ "$seen" = "$SHA" ] || die "the second instance sees other bytes: $seen"
    echo "the second instance reads the same bytes: $seen"
    show_renter stop second
}

statement() {
    show_renter bill show
    show_renter bill export "$DATA/client/bill.json"
    show_renter bill verify "$DATA/client/bill.json" --earlier "$DATA/client/bill-before.json"
    show_operator audit money | tail -3
}

# The newest wipe certificate: what was done, what could not be done here.
certificate() {
    operator api GET "/v1/certificates?node=$NODE&limit=100" | python3 -c 'import json, sys
c = json.load(sys.stdin)["items"][-1]
steps = c["body"].get("steps", []) if isinstance(c["body"], dict) else []
print("%s: cards %s, result %s%s, signed" % (c["id"], ",".join(map(str, c["cards"])), c["result"], ", emulated" if c["emulated"] else ""))
for s in steps: print("  %-14s %s" % (s["result"], s["name"]))'
}

# The other half of the product: a small CUDA project of this tree becomes HIP, is compiled for the AMD targets
# where Debian's clang-19 is installed, and runs on the CPU with waves of 32 and 64 lanes.
port() {
    local from=examples/cuda-demo to=$DATA/port out rc=0
    rm -rf "$to"
    echo "\$ starport translate $from --o-dir $to"
    "$BUILD/starport" translate --quiet-warnings "$from" --o-dir "$to"
    (cd "$to" && ls CMakeLists.txt Makefile setup.py src/*)
    "$BUILD/starport" examine --format html --fail-on never "$from" >"$DATA/port-report.html"
    if command -v clang++-19 >/dev/null && [ -e /usr/include/hip/hip_runtime.h ]; then
        echo "\$ starport check --arch gfx90a,gfx942 $to"
        "$BUILD/starport" check --arch gfx90a,gfx942 -I "$to/include" "$to"
    else
        echo "clang-19, lld-19, clang-tools-19, llvm-19, libamdhip64-dev and rocm-device-libs are not installed: not compiled for gfx942"
    fi
    echo "\$ starport verify $from/src/*.cu        (as it stands)"
    out=$("$BUILD/starport" verify -I "$from/include" "$from"/src/*.cu) || rc=$?
    [ "$rc" = 1 ] || die "starport verify of the CUDA sources ended with $rc: $out"
    grep -E 'mask:|findings' <<<"$out" | head -n 3 || true
    tail -n 1 <<<"$out"
    echo "\$ starport verify $to/src/*.cu        (ported, with the automatic fixes)"
    "$BUILD/starport" verify -I "$to/include" "$to"/src/*.cu
    echo "the report: $DATA/port-report.html"
}

summary() {
    local s
    printf '\n== Timeline\n%10s  %s\n' seconds step
    for s in "${STEPS[@]}"; do
        printf '%10s  %s\n' "${s%%|*}" "${s#*|}"
    done
    printf '%10s  %s\n' "$(seconds $(($(now_us) - BEGIN)))" 'all of it'
    cat <<END

First reproducible metric: dominant_eigenvalue $VALUE
  SHA-256 of the figures $SHA
  nonce chosen by the control plane at create: $NONCE
Benchmark record: $DATA/client/bench.json (starlease bench verify FILE)

The server is running at $URL (logs and data in $DATA).
  as the renter:    export STARLEASE_CONFIG=$DATA/client/config
  as the operator:  export STARLEASE_CONFIG=$DATA/operator/config
  in a browser:     $URL/console/
  stop it:          make demo-stop
END
}

demo() {
    step "Preparation"
    prepare
    stop_all
    only_one
    step "Image: a small Debian (made once)"
    build_image
    step "Agent and control plane"
    start_agent
    start_server
    step "Operator: the node into service, the image imported"
    setup_operator
    step "Price table"
    show_renter price list --url "$URL"
    step "Sign-up with a mailed code, trial credit, SSH key"
    sign_up
    step "Quote"
    show_renter quote --gpu "$MODEL:$FIRST" $IMAGE
    step "First instance: $FIRST cards, from request to SSH"
    show_renter run --yes --gpu "$MODEL:$FIRST" --name first $IMAGE
    step "Work: a numeric job over the nonce, on the shared drive"
    work
    step "Benchmark: a record seeded by the nonce, signed, recomputed"
    benchmark
    step "Stop"
    show_renter stop first
    renter bill export "$DATA/client/bill-before.json" >/dev/null
    step "Second instance sees the files"
    second_instance
    if [ "${TORCH:-0}" = 1 ]; then
        step "ResNet-50 on the processor, in an image with PyTorch"
        torch_benchmark
    fi
    step "Statement, verified offline"
    statement
    step "Both instances given up, the cards wiped"
    show_renter rm --yes first
    show_renter rm --yes second
    wait_until 60 "the cards to be wiped" node_available
    say_run api GET "/v1/certificates?node=$NODE"
    certificate
    step "Port: a CUDA project to ROCm, checked and run at wave 32 and 64"
    port
    end_step
    summary
}

case ${1:-} in
'') demo ;;
stop)
    [ -L "$DATA" ] && DATA=$(readlink -f "$DATA")
    stop_all
    echo "the demo's server and agent are stopped; data stays in $DATA"
    ;;
clean)
    [ -L "$DATA" ] && DATA=$(readlink -f "$DATA")
    stop_all
    rm -rf "$DATA" "$RUN"
    [ -n "${DEMO_DATA:-}" ] || rm -rf "$TREE/demo-data"
    ;;
*) die "usage: scripts/demo.sh [stop|clean]" ;;
esac
