// SPDX-License-Identifier: Apache-2.0
// The renter's instances, and one of them with everything about it.
import { del, get, post, text } from '../api';
import { duration, micro, money } from '../format';
import { t, word } from '../i18n';
import { beat, useData, useList } from '../live';
import { go, query, setQuery } from '../router';
import type { Event, Lease, Logs, Operation, Record as BenchRecord, StopPreview, Volume } from '../types';
import { ask, Card, Cli, Code, download, Emulated, Facts, Field, Form, Money, Oops, Page, say, Actor, State, Table, Time, With } from '../ui';
import { useEffect, useRef, useState } from 'preact/hooks';

const OVER = ['released', 'failed'];
const quoted = (name: string) => (/^[\w.-]+$/.test(name) ? name : `'${name.replace(/'/g, `'\\''`)}'`);
const label = (l: Lease) => l.name || l.id;
const again = () => void beat.value++;

export function Instances() {
  const state = query('state');
  const leases = useList<Lease>('/v1/leases' + (state && state !== 'all' ? '?state=' + encodeURIComponent(state) : ''), 10);
  return (
    <Page title={t('instances.title')} actions={<a class="button primary" href="/console/create">{t('create.title')}</a>}>
      <div class="filters">
        <Field
          name="state"
          label={t('state')}
          value={state}
          set={(v) => setQuery('state', v)}
          options={[['', t('instances.living')], ['running', word('state', 'running')], ['stopped', word('state', 'stopped')], ['failed', word('state', 'failed')], ['released', word('state', 'released')], ['all', t('prices.all')]]}
        />
      </div>
      <With of={leases}>
        {(all) => {
          const rows = all.filter((l) => state || !OVER.includes(l.state)).reverse();
          return (
            <Table<Lease>
              label={t('instances.title')}
              rows={rows}
              id={(l) => l.id}
              empty={<>{t('instances.empty')} <a href="/console/create">{t('create.title')}</a></>}
              columns={[
                { head: t('name'), cell: (l) => <><a href={`/console/instances/${l.id}`}>{label(l)}</a> {l.emulated && <Emulated />}</> },
                { head: t('state'), cell: (l) => <State name={l.state} /> },
                { head: t('cards'), cell: (l) => `${l.gpus} × ${l.model}` },
                { head: t('image'), cell: (l) => l.image },
                { head: t('prices.per_hour_all'), num: true, cell: (l) => (l.billed ? money(l.rate_per_hour, l.currency) : <span class="dim">{t('not_billed')}</span>) },
                { head: t('cost.so_far'), num: true, cell: (l) => <Money v={l.cost_so_far} c={l.currency} /> },
                { head: t('created'), cell: (l) => <Time at={l.created} /> },
              ]}
            />
          );
        }}
      </With>
      <Cli cli="starlease ps" method="GET" path="/v1/leases" />
    </Page>
  );
}

/* What a disk costs in a day while the instance is stopped, in words. */
const kept = (p: StopPreview) => (micro(p.disk_per_day) ? t('per_day', { cost: money(p.disk_per_day, p.currency) }) : t('free'));

function stop(l: Lease, p: StopPreview): void {
  ask({
    title: t('stop.title', { name: label(l) }),
    action: t('stop.do'),
    body: (
      <>
        <p>{t('stop.body')}</p>
        <Facts
          rows={[
            [t('cost.so_far'), <Money v={l.cost_so_far} c={l.currency} />],
            [t('stop.saves'), t('per_hour', { cost: money(p.rate_per_hour_now, p.currency) })],
            [t('stop.disk'), `${l.disk_gb} GB · ${kept(p)}`],
            [t('stop.until'), p.kept_until ? <Time at={p.kept_until} /> : t('stop.until_release')],
            [t('stop.stock'), t('stop.stock_text', { free: p.stock.free, total: p.stock.total, here: p.free_at_disk })],
            [t('stop.restart'), t('per_hour', { cost: money(p.restart_rate_per_hour, p.currency) })],
          ]}
        />
        {!p.could_start_again && <p class="state warn"><span aria-hidden="true">▲</span> {t('stop.no_way_back')}</p>}
      </>
    ),
    cli: <Cli cli={`starlease stop ${quoted(label(l))}`} method="POST" path={`/v1/leases/${l.id}/stop`} />,
    run: () => post(`/v1/leases/${l.id}/stop`).then(again),
  });
}
function start(l: Lease, no_gpu: boolean): void {
  const cost = t('per_hour', { cost: money(l.rate_per_hour, l.currency) });
  ask({
    title: t('start.title', { name: label(l) }),
    action: no_gpu ? t('start.no_gpu') : t('start.do', { cost: money(l.rate_per_hour, l.currency) }),
    body: <p>{no_gpu ? t('start.no_gpu_body') : t('start.body', { cost })}</p>,
    cli: <Cli cli={`starlease start ${quoted(label(l))}${no_gpu ? ' --no-gpu' : ''}`} method="POST" path={`/v1/leases/${l.id}/start`} body={no_gpu ? { no_gpu: true } : undefined} />,
    run: () => post(`/v1/leases/${l.id}/start`, no_gpu ? { no_gpu: true } : {}).then(again),
  });
}
function release(l: Lease): void {
  ask({
    title: t('release.title', { name: label(l) }),
    action: t('release.do'),
    danger: true,
    type: label(l),
    body: <p>{t('release.body', { gb: l.disk_gb })}</p>,
    cli: <Cli cli={`starlease rm ${quoted(label(l))}`} method="DELETE" path={`/v1/leases/${l.id}`} />,
    run: async () => {
      await del(`/v1/leases/${l.id}`);
      say(t('release.done'));
      again();
      go('/instances');
    },
  });
}

export function Instance({ id }: { id: string }) {
  const lease = useData<Lease>('/v1/leases/' + encodeURIComponent(id), 5);
  const name = lease.data ? label(lease.data) : id;
  const l = lease.data;
  const stops = l && ['placed', 'starting', 'running'].includes(l.state);
  const preview = useData<StopPreview>(stops ? `/v1/leases/${l.id}/stop-preview` : '', 15);
  const p = preview.data;
  return (
    <Page
      title={name}
      lead={l && <><State name={l.state} /> {l.emulated && <Emulated />} {l.no_gpu && <span class="tag">{t('no_gpu')}</span>} {l.reason && <span class="dim" lang="en">{l.reason}</span>}</>}
      actions={
        l && (
          <>
            {stops && p && <button onClick={() => stop(l, p)}>{t('stop.button', { gb: l.disk_gb, cost: kept(p) })}</button>}
            {l.state === 'stopped' && <button class="primary" onClick={() => start(l, false)}>{t('start.button', { cost: money(l.rate_per_hour, l.currency) })}</button>}
            {l.state === 'stopped' && <button onClick={() => start(l, true)}>{t('start.no_gpu')}</button>}
            {l.state === 'stopped' && <button class="danger" onClick={() => release(l)}>{t('release.button')}</button>}
          </>
        )
      }
    >
      <With of={lease}>{(x) => <Detail l={x} />}</With>
    </Page>
  );
}

function Detail({ l }: { l: Lease }) {
  const ssh = l.ssh && `ssh -p ${l.ssh.port} ${l.ssh.user}@${l.ssh.host}`;
  return (
    <div class="grid">
      <Card title={t('connect')}>
        {ssh && l.state === 'running' ? (
          <>
            <Code text={ssh} label="ssh" />
            <Code text={`starlease ssh ${quoted(label(l))}`} label="starlease ssh" />
            {l.host_key && (
              <details>
                <summary>{t('host_key')}</summary>
                <Code text={l.host_key} label={t('host_key')} />
              </details>
            )}
          </>
        ) : (
          <p class="dim">{OVER.includes(l.state) ? t('connect.over') : l.state === 'stopped' ? t('connect.stopped') : t('connect.soon')}</p>
        )}
      </Card>
      <Card title={t('bill')}>
        <Facts
          rows={[
            [t('cost.so_far'), <strong><Money v={l.cost_so_far} c={l.currency} /></strong>],
            [t('prices.per_hour_all'), <Money v={l.rate_per_hour} c={l.currency} />],
            [t('billed'), l.billed ? t('billed.yes') : t('billed.no')],
            [t('funded_until'), <Time at={l.funded_until} />],
            [t('price_version'), <code>{l.price_version}</code>],
          ]}
        />
        <p><a href="/console/wallet">{t('bill.open')}</a></p>
      </Card>
      <Card title={t('timeline')} class="wide">
        <ol class="timeline">
          {l.timeline.map((s) => (
            <li>
              <strong>{word('step', s.step)}</strong> <Time at={s.time} /> <span class="dim num">+{s.seconds} s</span>
            </li>
          ))}
          {l.metric && (
            <li>
              <strong>{word('step', 'metric')}</strong> <code>{JSON.stringify(l.metric)}</code>
            </li>
          )}
        </ol>
        <Operations of={l.id} />
      </Card>
      {l.state === 'running' && <Use l={l} />}
      {l.state === 'stopped' && <SaveImage l={l} />}
      <Timers l={l} />
      <Card title={t('about')}>
        <Facts
          rows={[
            [t('cards'), `${l.gpus} × ${l.model}`],
            [t('place'), l.node ? `${l.node} [${l.cards.join(', ')}]` : '—'],
            [t('image'), l.image],
            [t('created'), <Time at={l.created} />],
            [t('ready'), <Time at={l.ready} />],
            [t('heartbeat'), <Time at={l.last_heartbeat} />],
            ['ID', <code>{l.id}</code>],
            ['nonce', <code>{l.nonce}</code>],
          ]}
        />
      </Card>
      <Disks of={l.id} />
      <Records l={l} />
      <LogBox l={l} />
      <History of={l.id} />
      <Card title={t('cli.all')} class="wide">
        <Cli cli={`starlease show ${quoted(label(l))}`} method="GET" path={`/v1/leases/${l.id}`} />
      </Card>
    </div>
  );
}

/* The disk as it is, as an image of one's own. */
function SaveImage({ l }: { l: Lease }) {
  const [name, setName] = useState('');
  return (
    <Card title={t('save.title')}>
      <p>{t('save.lead')}</p>
      <Form
        label={t('save.do')}
        submit={async () => {
          await post(`/v1/leases/${l.id}/images`, { name });
          setName('');
          say(t('save.done'));
          again();
        }}
      >
        {(f) => <Field name="name" label={t('name')} value={name} set={setName} failure={f} hint={t('save.name')} maxLength={63} spellcheck={false} />}
      </Form>
      <Cli cli={`starlease image save ${quoted(label(l))} ${name || 'NAME'}`} method="POST" path={`/v1/leases/${l.id}/images`} body={{ name: name || 'NAME' }} />
    </Card>
  );
}

function Operations({ of }: { of: string }) {
  const ops = useList<Operation>('/v1/operations?ref=' + of);
  if (!ops.data?.length) return <Oops failure={ops.failure} />;
  return (
    <Table<Operation>
      label={t('operations')}
      rows={ops.data}
      id={(o) => o.id}
      columns={[
        { head: t('operation'), cell: (o) => word('op', o.kind) },
        { head: t('state'), cell: (o) => <State name={o.state} /> },
        { head: t('took'), num: true, cell: (o) => (o.state === 'done' || o.state === 'failed' ? `${((Date.parse(o.since) - Date.parse(o.created)) / 1000).toFixed(2)} s` : '…') },
        { head: t('attempts'), num: true, cell: (o) => o.attempts },
        { head: t('cause'), cell: (o) => (o.error ? <span lang="en">{o.error}</span> : <span class="dim">—</span>) },
      ]}
    />
  );
}

function Timers({ l }: { l: Lease }) {
  const a = l.autostop;
  if (OVER.includes(l.state)) return null;
  const set = (body: Record<string, unknown>) => post(`/v1/leases/${l.id}/autostop`, body).then(again, (e) => say(String(e.message)));
  const hours = (s: number | undefined) => String(s || 0);
  const options: [string, string][] = [['0', t('never')], ['900', t('time.m', { n: 15 })], ['3600', t('time.h', { n: 1 })], ['14400', t('time.h', { n: 4 })], ['43200', t('time.h', { n: 12 })], ['86400', t('time.h', { n: 24 })]];
  const having = (v: string) => (options.some((o) => o[0] === v) ? options : [...options, [v, duration(Number(v))] as [string, string]]);
  return (
    <Card title={t('create.stop')}>
      <Field name="ttl" label={t('create.ttl')} value={hours(a?.ttl_s)} set={(v) => set({ ttl_s: Number(v) })} options={having(hours(a?.ttl_s))} />
      <Field name="idle" label={t('create.idle')} value={hours(a?.idle_s)} set={(v) => set({ idle_s: Number(v) })} options={having(hours(a?.idle_s))} />
      {a && <Facts rows={[!!a.stops_at && [t('stops_at'), <Time at={a.stops_at} />], !!a.idle_stop_at && [t('idle_stop_at'), <Time at={a.idle_stop_at} />], micro(a.budget) > 0n && [t('budget'), <Money v={a.budget} c={l.currency} />]]} />}
      <Cli cli={`starlease autostop ${quoted(label(l))} --ttl 4h --idle 30m`} method="POST" path={`/v1/leases/${l.id}/autostop`} body={{ ttl_s: 14400, idle_s: 1800 }} />
    </Card>
  );
}

/* What the node saw last, and how it went since the page was opened. */
function Use({ l }: { l: Lease }) {
  const use = l.autostop?.use as { ssh: number; ports: number; cpu_permille: number; gpu_percent: number | null } | null | undefined;
  const kept = useRef<number[]>([]);
  const seen = l.autostop?.used_at || '';
  const gpu = use?.gpu_percent ?? null;
  useEffect(() => {
    if (use) kept.current = [...kept.current, gpu ?? use.cpu_permille / 10].slice(-120);
  }, [l]);
  const v = kept.current;
  const top = Math.max(100, ...v);
  return (
    <Card title={t('use')}>
      {use ? (
        <>
          <Facts
            rows={[
              [t('use.gpu'), gpu === null ? t('use.unknown') : <strong class="num">{gpu} %</strong>],
              [t('use.cpu'), <span class="num">{t('use.cores', { n: (use.cpu_permille / 1000).toFixed(2) })}</span>],
              [t('use.ssh'), use.ssh],
              [t('use.ports'), use.ports],
              [t('use.seen'), <Time at={seen} />],
            ]}
          />
          {v.length > 1 && (
            <svg class="spark" viewBox={`0 0 ${v.length - 1} 100`} preserveAspectRatio="none" role="img" aria-label={t('use.chart')}>
              <polyline points={v.map((y, x) => `${x},${100 - (96 * y) / top}`).join(' ')} />
            </svg>
          )}
        </>
      ) : (
        <p class="dim">{t('use.none')}</p>
      )}
    </Card>
  );
}

function Disks({ of }: { of: string }) {
  const volumes = useList<Volume>('/v1/volumes');
  const mine = (volumes.data || []).filter((v) => v.lease === of);
  return (
    <Card title={t('disks')}>
      {mine.length ? (
        <ul class="plain">
          {mine.map((v) => (
            <li>
              <a href="/console/volumes">{v.name || v.id}</a> · {(v.size_bytes / 1e9).toFixed(0)} GB · <State name={v.state} />
            </li>
          ))}
        </ul>
      ) : (
        <p class="dim">{t('disks.none')}</p>
      )}
    </Card>
  );
}

/* Signed benchmark records; the file is what `starlease bench verify` reads. */
function Records({ l }: { l: Lease }) {
  const records = useList<BenchRecord>(`/v1/leases/${l.id}/records`);
  const save = async (r: BenchRecord) => {
    const answer = await text('/v1/records/' + r.id); // {"id":"...","file":{...}}
    download(`starlease-${r.id}.json`, answer.slice(answer.indexOf('"file":') + 7, answer.lastIndexOf('}')));
  };
  return (
    <Card title={t('bench.title')} class="wide">
      <With of={records}>
        {(rows) => (
          <Table<BenchRecord>
            label={t('bench.title')}
            rows={[...rows].reverse()}
            id={(r) => r.id}
            empty={t('bench.empty')}
            columns={[
              { head: t('bench.suite'), cell: (r) => <><strong>{r.suite}</strong> {r.emulated && <Emulated />}</> },
              { head: t('bench.median'), num: true, cell: (r) => `${r.median} ${r.unit}` },
              { head: t('bench.interval'), num: true, cell: (r) => `${r.low} … ${r.high}` },
              { head: t('bench.samples'), num: true, cell: (r) => r.samples },
              { head: t('bench.checksum'), cell: (r) => (r.checksum ? <code title={r.checksum}>{r.checksum.slice(0, 12)}…</code> : <span class="state warn">▲ {t('bench.differs')}</span>) },
              { head: t('when'), cell: (r) => <Time at={r.created} /> },
              { head: t('actions'), cell: (r) => <button onClick={() => save(r).catch((e) => say(String(e.message)))}>{t('statement.download')}<span class="sr"> {r.suite}</span></button> },
            ]}
          />
        )}
      </With>
      <Code text={`starlease bench run --in ${quoted(label(l))} gemm`} label="starlease bench run" />
      <Cli cli={`starlease bench list ${quoted(label(l))}`} method="GET" path={`/v1/leases/${l.id}/records`} />
    </Card>
  );
}

function LogBox({ l }: { l: Lease }) {
  const [shown, setShown] = useState<string | null>(null);
  const [wrong, setWrong] = useState<unknown>(null);
  return (
    <Card
      title={t('logs')}
      class="wide"
      aside={
        <button onClick={() => get<Logs>(`/v1/leases/${l.id}/logs`).then((x) => { setShown(x.text); setWrong(null); }, setWrong)}>{shown === null ? t('logs.load') : t('logs.again')}</button>
      }
    >
      {wrong !== null && <p class="wrong" role="alert" lang="en">{String((wrong as Error).message)}</p>}
      {shown !== null ? <pre class="logs" tabIndex={0} aria-label={t('logs')}>{shown || t('logs.empty')}</pre> : <p class="dim">{t('logs.hint')}</p>}
      <Cli cli={`starlease logs ${quoted(label(l))}`} method="GET" path={`/v1/leases/${l.id}/logs`} />
    </Card>
  );
}

function History({ of }: { of: string }) {
  const events = useData<{ items: Event[] }>('/v1/events?limit=50&lease=' + of);
  return (
    <Card title={t('events')} class="wide">
      <Table<Event>
        label={t('events')}
        rows={events.data?.items || []}
        id={(e) => String(e.seq)}
        columns={[
          { head: t('when'), cell: (e) => <Time at={e.time} /> },
          { head: t('what'), cell: (e) => <code>{e.type}</code> },
          { head: t('by'), cell: (e) => <Actor id={e.actor} /> },
          { head: t('cause'), cell: (e) => <span lang="en">{e.data?.reason || '—'}</span> },
        ]}
      />
    </Card>
  );
}
