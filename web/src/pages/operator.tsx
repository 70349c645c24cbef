// SPDX-License-Identifier: Apache-2.0
// The operator's pages: fleet, node, prices, accounts, operations, the books.
import { useState } from 'preact/hooks';
import { get, post } from '../api';
import { micro, money } from '../format';
import { type Key, t, word } from '../i18n';
import { beat, useData, useList } from '../live';
import { query, setQuery } from '../router';
import type { Account, Audit, Certificate, Node, Operation, Price, Tariff } from '../types';
import { ask, Card, Cli, Emulated, Facts, Field, Form, Page, say, State, Table, Time, With } from '../ui';

const again = () => void beat.value++;
const CELLS: Record<string, string> = { F: '·', L: '■', S: '◐', O: '✕' };

/* node x card; every state has a mark of its own besides its colour */
const Cards = ({ n }: { n: Node }) => (
  <span class="heat" role="img" aria-label={t('fleet.cells', { free: n.free, leased: n.leased, wiping: n.sanitizing })}>
    {[...n.card_states].map((c, i) => (
      <span class={'cell c' + c} title={`${i}: ${t(('cell.' + c) as Key)}`}>
        {CELLS[c]}
      </span>
    ))}
  </span>
);

export function Fleet() {
  const nodes = useList<Node>('/v1/nodes', 15);
  const state = query('state');
  const [addr, setAddr] = useState('');
  const [name, setName] = useState('');
  return (
    <Page title={t('fleet.title')}>
      <With of={nodes}>
        {(all) => {
          const sum = (f: (n: Node) => number) => all.reduce((s, n) => s + f(n), 0);
          const total = sum((n) => n.cards);
          const rows = all.filter((n) => !state || n.state === state || n.health === state);
          return (
            <>
              <div class="figures">
                <div class="figure"><div class="dim">{t('fleet.nodes')}</div><div class="big num">{all.length}</div></div>
                <div class="figure"><div class="dim">{t('cards')}</div><div class="big num">{total}</div></div>
                <div class="figure"><div class="dim">{t('cell.L')}</div><div class="big num">{sum((n) => n.leased)}</div><div class="dim">{total ? Math.round((100 * sum((n) => n.leased)) / total) : 0} %</div></div>
                <div class="figure"><div class="dim">{t('cell.F')}</div><div class="big num">{sum((n) => n.free)}</div></div>
                <div class="figure"><div class="dim">{t('cell.S')}</div><div class="big num">{sum((n) => n.sanitizing)}</div></div>
              </div>
              <div class="filters">
                <Field name="state" label={t('state')} value={state} set={(v) => setQuery('state', v)} options={[['', t('prices.all')], ...['available', 'leased', 'draining', 'quarantined', 'bad', 'unknown'].map((s): [string, string] => [s, word('state', s)])]} />
                <p class="legend">{Object.entries(CELLS).map(([c, mark]) => <span><span class={'cell c' + c} aria-hidden="true">{mark}</span> {t(('cell.' + c) as Key)}</span>)}</p>
              </div>
              <Table<Node>
                label={t('fleet.title')}
                rows={rows}
                id={(n) => n.name}
                empty={t('fleet.empty')}
                columns={[
                  { head: t('node'), cell: (n) => <><a href={`/console/nodes/${n.name}`}>{n.name}</a> {n.emulated && <Emulated />}</> },
                  { head: t('cards'), cell: (n) => <Cards n={n} /> },
                  { head: t('model'), cell: (n) => n.model },
                  { head: t('health'), cell: (n) => <State name={n.health} /> },
                  { head: t('state'), cell: (n) => <State name={n.state} /> },
                  { head: t('cause'), cell: (n) => (n.reason ? <span lang="en">{n.reason}</span> : <span class="dim">—</span>) },
                ]}
              />
            </>
          );
        }}
      </With>
      <Card title={t('fleet.enrol')}>
        <Form
          class="row"
          label={t('fleet.enrol')}
          submit={async () => {
            await post('/v1/nodes', { ...(name ? { name } : {}), addr });
            setAddr('');
            setName('');
            say(t('fleet.enrolled'));
            again();
          }}
        >
          {(f) => (
            <>
              <Field name="addr" label={t('fleet.addr')} value={addr} set={setAddr} failure={f} hint="unix:/run/starlease/agentd.sock" />
              <Field name="name" label={t('name')} value={name} set={setName} failure={f} hint={t('fleet.name_hint')} />
            </>
          )}
        </Form>
        <Cli cli={`starlease node enrol ${addr || 'unix:/run/starlease/agentd.sock'}`} method="POST" path="/v1/nodes" body={{ addr: addr || 'unix:/run/starlease/agentd.sock' }} />
      </Card>
    </Page>
  );
}

const VERBS: ['drain' | 'resume' | 'retire', string[]][] = [['drain', ['available', 'leased', 'sanitizing']], ['resume', ['draining', 'quarantined']], ['retire', ['draining', 'quarantined']]];

export function NodePage({ id }: { id: string }) {
  const node = useData<Node>('/v1/nodes/' + encodeURIComponent(id), 10);
  const certs = useList<Certificate>('/v1/certificates?node=' + encodeURIComponent(id));
  const act = (verb: 'drain' | 'resume' | 'retire') =>
    ask({
      title: t(`node.${verb}_title`, { name: id }), action: t(`node.${verb}`), danger: verb === 'retire', type: verb === 'retire' ? id : undefined, body: <p>{t(`node.${verb}_body`)}</p>,
      cli: <Cli cli={`starlease node ${verb} ${id}`} method="POST" path={`/v1/nodes/${id}/${verb}`} />, run: () => post(`/v1/nodes/${encodeURIComponent(id)}/${verb}`).then(again),
    });
  return (
    <Page title={id} lead={node.data && <><State name={node.data.state} /> <State name={node.data.health} /> {node.data.emulated && <Emulated />}</>}
      actions={node.data && VERBS.filter(([, when]) => when.includes(node.data!.state)).map(([verb]) => <button class={verb === 'retire' ? 'danger' : ''} onClick={() => act(verb)}>{t(`node.${verb}`)}</button>)}>
      <With of={node}>
        {(n) => (
          <div class="grid">
            <Card title={t('cards')}><Cards n={n} /><Facts rows={[[t('cell.F'), n.free], [t('cell.L'), n.leased], [t('cell.S'), n.sanitizing]]} /></Card>
            <Card title={t('about')}>
              <Facts rows={[[t('model'), `${n.cards} × ${n.model}`], [t('health'), <State name={n.health} />], [t('cause'), n.reason ? <span lang="en">{n.reason}</span> : '—'], [t('fleet.addr'), <code>{n.addr}</code>], [t('node.holder'), n.account ? <code>{n.account}</code> : '—']]} />
            </Card>
            <Card title={t('node.certificates')} class="wide">
              <With of={certs}>
                {(rows) => (
                  <Table<Certificate>
                    label={t('node.certificates')}
                    rows={[...rows].reverse()}
                    id={(c) => c.id}
                    empty={t('node.no_certificates')}
                    columns={[
                      { head: t('when'), cell: (c) => <Time at={c.created} /> },
                      { head: t('cards'), cell: (c) => c.cards.join(', ') },
                      { head: t('node.result'), cell: (c) => <>{c.result} {c.emulated && <Emulated />}</> },
                      { head: t('node.lease'), cell: (c) => <code>{c.lease}</code> },
                      { head: t('node.signature'), cell: (c) => <code title={c.signature}>{c.signature.slice(0, 12)}…</code> },
                    ]}
                  />
                )}
              </With>
            </Card>
            <Card title={t('node.facts')} class="wide">
              <details><summary>JSON</summary><pre class="logs" tabIndex={0} aria-label={t('node.facts')}>{JSON.stringify(n.facts, null, 1)}</pre></details>
              <Cli cli={`starlease node show ${n.name}`} method="GET" path={`/v1/nodes/${n.name}`} />
            </Card>
          </div>
        )}
      </With>
    </Page>
  );
}

export function PriceEditor() {
  const prices = useList<Price>('/v1/prices');
  const [model, setModel] = useState('');
  const [price, setPrice] = useState('');
  const [currency, setCurrency] = useState('CNY');
  const [effective, setEffective] = useState('');
  const [note, setNote] = useState('');
  const now = prices.data?.find((p) => p.model === model && p.currency === currency);
  const valid = /^\d+(\.\d{1,6})?$/.test(price);
  const change = now && valid && micro(now.price) > 0n ? Number(((micro(price) - micro(now.price)) * 10000n) / micro(now.price)) / 100 : null;
  const body = { model, price, currency, ...(effective ? { effective: new Date(effective).toISOString().replace(/\.\d+Z$/, 'Z') } : {}), ...(note ? { note } : {}) };
  return (
    <Page title={t('pricing.title')} lead={t('pricing.lead')}>
      <With of={prices}>
        {(rows) => (
          <Table<Price>
            label={t('prices.title')}
            rows={rows}
            id={(p) => p.id}
            columns={[
              { head: t('model'), cell: (p) => p.model },
              { head: t('prices.per_hour'), num: true, cell: (p) => money(p.price, p.currency) },
              { head: t('prices.since'), cell: (p) => <Time at={p.effective} /> },
              { head: t('pricing.source'), cell: (p) => <span>{p.source || '—'}</span> },
              { head: t('actions'), cell: (p) => <button onClick={() => { setModel(p.model); setCurrency(p.currency); setPrice(p.price); }}>{t('pricing.change')}<span class="sr"> {p.model} {p.currency}</span></button> },
            ]}
          />
        )}
      </With>
      <Card title={t('pricing.new')}>
        <Form
          label={t('pricing.do')}
          submit={async () => {
            await post('/v1/prices', body);
            say(t('pricing.done'));
            setPrice('');
            again();
          }}
        >
          {(f) => (
            <>
              <div class="row">
                <Field name="model" label={t('model')} value={model} set={setModel} failure={f} options={[['', '—'], ...[...new Set((prices.data || []).map((p) => p.model))].map((m): [string, string] => [m, m])]} />
                <Field name="price" label={t('prices.per_hour')} value={price} set={setPrice} failure={f} inputMode="decimal" />
                <Field name="currency" label={t('currency')} value={currency} set={setCurrency} failure={f} maxLength={3} />
                <Field name="effective" label={t('pricing.effective')} type="datetime-local" value={effective} set={setEffective} failure={f} hint={t('pricing.effective_hint')} />
              </div>
              <Field name="note" label={t('memo')} value={note} set={setNote} failure={f} />
              {change !== null && <p role="status">{t('pricing.preview', { from: money(now!.price, currency), to: money(price, currency), change: (change > 0 ? '+' : '') + change })}</p>}
              <p class="dim">{t('pricing.rule')}</p>
              <Cli method="POST" path="/v1/prices" body={body} />
            </>
          )}
        </Form>
      </Card>
      <TariffEditor />
    </Page>
  );
}

function TariffEditor() {
  const tariffs = useList<Tariff>('/v1/tariffs');
  const [kind, setKind] = useState('disk');
  const [price, setPrice] = useState('');
  const [currency, setCurrency] = useState('CNY');
  const body = { kind, price, currency };
  return (
    <Card title={t('tariffs.title')}>
      <With of={tariffs}>
        {(rows) => (
          <Table<Tariff>
            label={t('tariffs.title')}
            rows={rows}
            id={(x) => x.kind}
            columns={[
              { head: t('tariffs.title'), cell: (x) => word('tariff', x.kind) },
              { head: t('price'), num: true, cell: (x) => (micro(x.price) ? money(x.price, x.currency) : t('free')) },
              { head: t('tariffs.unit'), cell: (x) => word('unit', x.unit) },
              { head: t('prices.since'), cell: (x) => <Time at={x.effective} /> },
            ]}
          />
        )}
      </With>
      <Form
        class="row"
        label={t('pricing.do')}
        submit={async () => {
          await post('/v1/tariffs', body);
          setPrice('');
          say(t('pricing.done'));
          again();
          tariffs.reload();
        }}
      >
        {(f) => (
          <>
            <Field name="kind" label={t('tariffs.title')} value={kind} set={setKind} failure={f} options={[['disk', t('tariff.disk')], ['cpu', t('tariff.cpu')]]} />
            <Field name="price" label={kind === 'disk' ? t('unit.gb_month') : t('unit.instance_hour')} value={price} set={setPrice} failure={f} inputMode="decimal" />
            <Field name="currency" label={t('currency')} value={currency} set={setCurrency} failure={f} maxLength={3} />
          </>
        )}
      </Form>
      <Cli cli={`starlease tariff set ${kind} ${price || 'PRICE'}`} method="POST" path="/v1/tariffs" body={body} />
    </Card>
  );
}

export function Accounts() {
  const email = query('email');
  const rows = useList<Account>('/v1/accounts' + (email ? '?email=' + encodeURIComponent(email) : ''));
  const [seek, setSeek] = useState(email);
  const chosen = rows.data?.find((a) => a.id === query('account'));
  return (
    <Page title={t('accounts.title')}>
      <form class="filters" role="search" onSubmit={(e) => { e.preventDefault(); setQuery('email', seek.trim()); }}>
        <Field name="email" label={t('email')} type="search" value={seek} set={setSeek} />
        <button>{t('search')}</button>
      </form>
      <With of={rows}>
        {(all) => (
          <Table<Account>
            label={t('accounts.title')}
            rows={all}
            id={(a) => a.id}
            empty={t('accounts.none')}
            columns={[
              { head: t('email'), cell: (a) => <><strong>{a.email}</strong><div><code>{a.id}</code></div></> },
              { head: t('accounts.role'), cell: (a) => word('role', a.role) },
              { head: t('state'), cell: (a) => <State name={a.state} /> },
              { head: t('accounts.quota'), cell: (a) => t('accounts.quota_text', { gpus: a.quota.gpus, leases: a.quota.leases, disk: a.quota.disk_gb }) },
              { head: t('created'), cell: (a) => <Time at={a.created} /> },
              { head: t('actions'), cell: (a) => <button onClick={() => setQuery('account', a.id === chosen?.id ? '' : a.id)} aria-expanded={a.id === chosen?.id}>{t('topup')}<span class="sr"> {a.email}</span></button> },
            ]}
          />
        )}
      </With>
      {chosen && <TopUp a={chosen} key={chosen.id} />}
      <Cli method="GET" path="/v1/accounts" />
    </Page>
  );
}

function TopUp({ a }: { a: Account }) {
  const [amount, setAmount] = useState('');
  const [reason, setReason] = useState('');
  const [reference, setReference] = useState('');
  const body = { amount, reason, ...(reference ? { reference } : {}) };
  return (
    <Card title={`${t('topup')}: ${a.email}`}>
      <Form
        label={t('topup.do', { amount: amount || '0', currency: a.currency })}
        submit={async () => {
          await post(`/v1/accounts/${a.id}/topups`, body);
          say(t('topup.done'));
          setAmount('');
          setReason('');
          setReference('');
          again();
        }}
      >
        {(f) => (
          <>
            <Field name="amount" label={`${t('amount')} (${a.currency})`} value={amount} set={setAmount} failure={f} inputMode="decimal" />
            <Field name="reason" label={t('topup.reason')} value={reason} set={setReason} failure={f} />
            <Field name="reference" label={t('topup.reference')} value={reference} set={setReference} failure={f} hint={t('topup.reference_hint')} />
            <Cli cli={`starlease wallet topup ${a.id} ${amount || 'AMOUNT'} --reason '${reason || '...'}'`} method="POST" path={`/v1/accounts/${a.id}/topups`} body={body} />
          </>
        )}
      </Form>
    </Card>
  );
}

export function OperationsPage() {
  const ops = useList<Operation>('/v1/operations');
  const state = query('state');
  return (
    <Page title={t('operations')}>
      <div class="filters">
        <Field name="state" label={t('state')} value={state} set={(v) => setQuery('state', v)} options={[['', t('prices.all')], ...['pending', 'running', 'done', 'failed'].map((s): [string, string] => [s, word('state', s)])]} />
      </div>
      <With of={ops}>
        {(rows) => (
          <Table<Operation>
            label={t('operations')}
            rows={rows.filter((o) => !state || o.state === state).reverse().slice(0, 200)}
            id={(o) => o.id}
            empty={t('list.empty')}
            columns={[
              { head: t('created'), cell: (o) => <Time at={o.created} /> },
              { head: t('operation'), cell: (o) => word('op', o.kind) },
              { head: t('activity.ref'), cell: (o) => <code>{o.ref}</code> },
              { head: t('node'), cell: (o) => (o.node ? <a href={`/console/nodes/${o.node}`}>{o.node}</a> : '—') },
              { head: t('state'), cell: (o) => <State name={o.state} /> },
              { head: t('attempts'), num: true, cell: (o) => o.attempts },
              { head: t('cause'), cell: (o) => (o.error ? <span lang="en">{o.error}</span> : <span class="dim">—</span>) },
            ]}
          />
        )}
      </With>
      <Cli method="GET" path="/v1/operations" />
    </Page>
  );
}

export function Books() {
  const [audit, setAudit] = useState<Audit | null>(null);
  return (
    <Page title={t('books.title')} lead={t('books.lead')}>
      <Card>
        <Form label={t('books.do')} submit={async () => setAudit(await get<Audit>('/v1/audit/money'))}>
          {() => null}
        </Form>
        {audit && (
          <>
            <p role="status"><State name={audit.ok ? 'ok' : 'bad'} /> {audit.ok ? t('books.ok') : t('books.bad')}</p>
            <Table
              label={t('books.title')}
              rows={audit.checks}
              id={(c) => c.id}
              columns={[
                { head: 'ID', cell: (c) => c.id },
                { head: t('books.check'), cell: (c) => <span lang="en">{c.name}</span> },
                { head: t('node.result'), cell: (c) => <State name={c.ok ? 'ok' : 'bad'} /> },
                { head: t('books.detail'), cell: (c) => <span lang="en">{c.detail}</span> },
              ]}
            />
          </>
        )}
        <Cli cli="starlease audit money" method="GET" path="/v1/audit/money" />
      </Card>
    </Page>
  );
}
