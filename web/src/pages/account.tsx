// SPDX-License-Identifier: Apache-2.0
// Money and access: wallet, ledger and statements; SSH keys, tokens, browser sessions; what happened.
import { useEffect, useState } from 'preact/hooks';
import { call, del, get, me, post, text } from '../api';
import { duration, micro, money, when } from '../format';
import { t, word } from '../i18n';
import { beat, useData, useList } from '../live';
import { query, setQuery } from '../router';
import type { Event, Key, Token, Totp, TotpOn, TotpSecret, Transaction, Wallet as WalletData } from '../types';
import { Actor, ask, Card, Cli, Code, Copy, download, Field, Form, Page, say, State, Table, Time, With } from '../ui';
import { signOut } from './public';

const again = () => void beat.value++;

export function Wallet() {
  const wallet = useData<WalletData>('/v1/wallet', 15);
  const trial = me.value?.trial || '0';
  return (
    <Page title={t('wallet.title')}>
      <With of={wallet}>
        {(w) => (
          <>
            <div class="figures">
              <Figure name={t('wallet.available')} value={money(w.available, w.currency)} note={w.balance_lasts_s === null ? t('wallet.idle') : t('wallet.lasts', { time: duration(w.balance_lasts_s), date: when(new Date(Date.now() + w.balance_lasts_s * 1000).toISOString()) })} />
              <Figure name={t('wallet.cash')} value={money(w.cash, w.currency)} />
              <Figure name={t('wallet.credit')} value={money(w.credit, w.currency)} note={t('wallet.credit_note')} />
              <Figure name={t('wallet.held')} value={money(w.held, w.currency)} note={t('wallet.held_note')} />
            </div>
            {micro(trial) > 0n && micro(w.available) + micro(w.held) === 0n && (
              <Card title={t('wallet.trial')}>
                <p>{t('signup.trial', { amount: money(trial, w.currency) })}</p>
                <Form label={t('wallet.trial_do')} submit={() => post('/v1/account/trial').then(again)}>
                  {() => null}
                </Form>
                <Cli cli="starlease trial" method="POST" path="/v1/account/trial" />
              </Card>
            )}
          </>
        )}
      </With>
      <Statement />
      <Ledger />
    </Page>
  );
}
const Figure = (p: { name: string; value: string; note?: string }) => (
  <div class="figure">
    <div class="dim">{p.name}</div>
    <div class="big num">{p.value}</div>
    {p.note && <div class="dim">{p.note}</div>}
  </div>
);

const day = (back: number) => new Date(Date.now() - back * 86400000).toISOString().slice(0, 10);
function Statement() {
  const [from, setFrom] = useState(day(30));
  const [to, setTo] = useState(day(-1));
  const path = `/v1/statements?from=${from}T00:00:00Z&to=${to}T00:00:00Z`;
  return (
    <Card title={t('statement.title')}>
      <p>{t('statement.lead')}</p>
      <Form
        class="row"
        label={t('statement.download')}
        submit={async () => {
          download(`starlease-${from}-${to}.json`, await text(path));
          say(t('statement.done'));
        }}
      >
        {(f) => (
          <>
            <Field name="from" label={t('from')} type="date" value={from} set={setFrom} failure={f} />
            <Field name="to" label={t('to')} type="date" value={to} set={setTo} failure={f} />
          </>
        )}
      </Form>
      <p>{t('statement.verify')}</p>
      <Code text={`starlease bill verify starlease-${from}-${to}.json`} label="starlease bill verify" />
      <Cli cli={`starlease bill export --from ${from} --to ${to} bill.json`} method="GET" path={path} />
    </Card>
  );
}

function Ledger() {
  const rows = useList<Transaction>('/v1/ledger');
  const kind = query('kind');
  const mine = (x: Transaction, kinds: string[]) => x.entries.filter((e) => e.account && kinds.includes(e.kind)).reduce((sum, e) => sum + micro(e.amount), 0n);
  const signed = (v: bigint) => (v ? money(`${v < 0n ? '-' : ''}${(v < 0n ? -v : v) / 1000000n}.${String((v < 0n ? -v : v) % 1000000n).padStart(6, '0')}`) : '—');
  return (
    <Card title={t('ledger.title')}>
      <div class="filters">
        <Field name="kind" label={t('ledger.kind')} value={kind} set={(v) => setQuery('kind', v)} options={[['', t('prices.all')], ...[...new Set((rows.data || []).map((r) => r.kind))].map((k): [string, string] => [k, word('txn', k)])]} />
      </div>
      <With of={rows}>
        {(all) => (
          <Table<Transaction>
            label={t('ledger.title')}
            rows={all.filter((r) => !kind || r.kind === kind).reverse()}
            id={(r) => r.id}
            empty={t('ledger.empty')}
            columns={[
              { head: t('when'), cell: (r) => <Time at={r.time} /> },
              { head: t('ledger.kind'), cell: (r) => word('txn', r.kind) },
              { head: t('wallet.available'), num: true, cell: (r) => signed(mine(r, ['cash', 'credit'])) },
              { head: t('wallet.held'), num: true, cell: (r) => signed(mine(r, ['held_cash', 'held_credit'])) },
              { head: t('memo'), cell: (r) => <span lang="en">{r.memo || '—'}</span> },
              { head: t('ledger.hash'), cell: (r) => <code title={r.hash}>{r.hash.slice(0, 10)}</code> },
            ]}
          />
        )}
      </With>
      <Cli cli="starlease wallet ledger" method="GET" path="/v1/ledger" />
    </Card>
  );
}

export function Access() {
  return (
    <Page title={t('access.title')}>
      <Keys />
      <SecondFactor />
      <Tokens />
    </Page>
  );
}

function Keys() {
  const keys = useList<Key>('/v1/keys');
  const [name, setName] = useState('');
  const [key, setKey] = useState('');
  return (
    <Card title={t('keys.title')}>
      <With of={keys}>
        {(rows) => (
          <Table<Key>
            label={t('keys.title')}
            rows={rows}
            id={(k) => k.id}
            empty={t('keys.empty')}
            columns={[
              { head: t('name'), cell: (k) => k.name },
              { head: t('keys.print'), cell: (k) => <><code>{k.fingerprint}</code> <span class="dim">{k.type}</span></> },
              { head: t('created'), cell: (k) => <Time at={k.created} /> },
              {
                head: t('actions'),
                cell: (k) => (
                  <button
                    class="danger"
                    onClick={() =>
                      ask({
                        title: t('keys.delete', { name: k.name }), action: t('delete'), danger: true, body: <p>{t('keys.delete_body')}</p>,
                        cli: <Cli cli={`starlease key rm ${k.id}`} method="DELETE" path={`/v1/keys/${k.id}`} />, run: () => del(`/v1/keys/${k.id}`).then(again),
                      })
                    }
                  >
                    {t('delete')}<span class="sr"> {k.name}</span>
                  </button>
                ),
              },
            ]}
          />
        )}
      </With>
      <details class="add">
        <summary>{t('keys.add')}</summary>
        <Form
          label={t('keys.add')}
          submit={async () => {
            await post('/v1/keys', { ...(name ? { name } : {}), key: key.trim() });
            setName('');
            setKey('');
            keys.reload();
          }}
        >
          {(f) => (
            <>
              <Field name="name" label={t('name')} value={name} set={setName} failure={f} maxLength={63} />
              <Field name="key" label={t('create.key_paste')} rows={3} value={key} set={setKey} failure={f} hint={t('create.key_hint')} spellcheck={false} />
              <Cli cli="starlease key add ~/.ssh/id_ed25519.pub" method="POST" path="/v1/keys" body={{ name: name || 'laptop', key: key.trim() || 'ssh-ed25519 ...' }} />
            </>
          )}
        </Form>
      </details>
    </Card>
  );
}

function SecondFactor() {
  const state = useData<Totp>('/v1/account/totp');
  const [begun, setBegun] = useState<TotpSecret | null>(null);
  const [recovery, setRecovery] = useState<string[]>([]);
  const [code, setCode] = useState('');
  const send = async (path: string) => {
    const on = await post<TotpOn | null>(path, { code: code.replace(/\s/g, '') });
    setCode('');
    setBegun(null);
    setRecovery(on?.recovery || []);
    state.reload();
  };
  return (
    <Card title={t('totp.title')}>
      {recovery.length > 0 && (
        <div class="made" role="status">
          <p>{t('totp.recovery')}</p>
          <Code text={recovery.join('\n')} label={t('totp.recovery_codes')} />
        </div>
      )}
      <With of={state}>
        {(x) =>
          x.enabled ? (
            <>
              <p><State name="active" /> {t('totp.on', { n: x.recovery_left })}</p>
              <details class="add">
                <summary>{t('totp.off_do')}</summary>
                <Form label={t('totp.off_do')} submit={() => send('/v1/account/totp/disable')}>
                  {(f) => <Field name="code" label={t('totp.code')} value={code} set={setCode} failure={f} hint={t('totp.code_hint')} inputMode="numeric" autoComplete="one-time-code" />}
                </Form>
                <Cli method="POST" path="/v1/account/totp/disable" body={{ code: '000000' }} />
              </details>
            </>
          ) : begun ? (
            <>
              <p>{t('totp.scan')}</p>
              <Code text={begun.secret} label={t('totp.secret')} />
              <p><a href={begun.uri}>{t('totp.open')}</a></p>
              <Form label={t('totp.confirm')} submit={() => send('/v1/account/totp/confirm')}>
                {(f) => <Field name="code" label={t('totp.code')} value={code} set={setCode} failure={f} inputMode="numeric" autoComplete="one-time-code" />}
              </Form>
              <Cli method="POST" path="/v1/account/totp/confirm" body={{ code: '000000' }} />
            </>
          ) : (
            <>
              <p>{t('totp.lead')}</p>
              <Form label={t('totp.begin')} submit={async () => setBegun(await post<TotpSecret>('/v1/account/totp'))}>
                {() => null}
              </Form>
              <Cli method="POST" path="/v1/account/totp" />
            </>
          )
        }
      </With>
    </Card>
  );
}

function Tokens() {
  const tokens = useList<Token>('/v1/tokens');
  const [name, setName] = useState('');
  const [scopes, setScopes] = useState('read,write');
  const [days, setDays] = useState('90');
  const [made, setMade] = useState('');
  const valid = (x: Token) => !x.revoked && Date.parse(x.expires) > Date.now();
  const revoke = (x: Token) =>
    ask({
      title: t('tokens.revoke_title', { name: x.name || x.id }), action: t('tokens.revoke'), danger: true, body: <p>{t('tokens.revoke_body')}</p>,
      cli: <Cli cli={`starlease token revoke ${x.id}`} method="DELETE" path={`/v1/tokens/${x.id}`} />,
      run: async () => {
        await del(`/v1/tokens/${x.id}`);
        again();
      },
    });
  const own = (x: Token) => x.id === me.value?.session;
  return (
    <>
      <Card title={t('sessions.title')} aside={<button onClick={signOut}>{t('signout')}</button>}>
        <With of={tokens}>
          {(rows) => (
            <Table<Token>
              label={t('sessions.title')}
              rows={rows.filter((x) => x.session && valid(x)).reverse()}
              id={(x) => x.id}
              columns={[
                { head: t('sessions.which'), cell: (x) => (own(x) ? <strong>{t('sessions.this')}</strong> : <code>{x.id.slice(-8)}</code>) },
                { head: t('created'), cell: (x) => <Time at={x.created} /> },
                { head: t('tokens.used'), cell: (x) => <Time at={x.last_used} /> },
                { head: t('expires'), cell: (x) => <Time at={x.expires} /> },
                { head: t('actions'), cell: (x) => (own(x) ? <span class="dim">—</span> : <button class="danger" onClick={() => revoke(x)}>{t('tokens.revoke')}<span class="sr"> {x.id.slice(-8)}</span></button>) },
              ]}
            />
          )}
        </With>
      </Card>
      <Card title={t('tokens.title')}>
        {made && (
          <div class="made" role="status">
            <p>{t('tokens.made')}</p>
            <div class="code">
              <pre tabIndex={0} aria-label={t('token')}>{made}</pre>
              <Copy text={made} label={t('token')} />
            </div>
          </div>
        )}
        <With of={tokens}>
          {(rows) => (
            <Table<Token>
              label={t('tokens.title')}
              rows={rows.filter((x) => !x.session).reverse()}
              id={(x) => x.id}
              empty={t('tokens.empty')}
              columns={[
                { head: t('name'), cell: (x) => x.name || <code>{x.id.slice(-8)}</code> },
                { head: t('tokens.scopes'), cell: (x) => <code>{x.scopes}</code> },
                { head: t('tokens.used'), cell: (x) => <Time at={x.last_used} /> },
                { head: t('expires'), cell: (x) => <Time at={x.expires} /> },
                { head: t('actions'), cell: (x) => (valid(x) ? <button class="danger" onClick={() => revoke(x)}>{t('tokens.revoke')}<span class="sr"> {x.name}</span></button> : <span class="dim">{x.revoked ? t('tokens.revoked') : t('tokens.expired')}</span>) },
              ]}
            />
          )}
        </With>
        <details class="add">
          <summary>{t('tokens.add')}</summary>
          <Form
            label={t('tokens.add')}
            submit={async () => {
              const x = await call<Token>('POST', '/v1/tokens', { name, scopes, days: Number(days) });
              setMade(x.token || '');
              setName('');
              tokens.reload();
            }}
          >
            {(f) => (
              <>
                <Field name="name" label={t('name')} value={name} set={setName} failure={f} maxLength={63} />
                <Field name="scopes" label={t('tokens.scopes')} value={scopes} set={setScopes} failure={f} options={[['read,write', t('tokens.write')], ['read', t('tokens.read')]]} />
                <Field name="days" label={t('tokens.days')} type="number" min={1} value={days} set={setDays} failure={f} />
                <Cli cli={`starlease token create ${name || 'NAME'} --scopes ${scopes} --days ${days}`} method="POST" path="/v1/tokens" body={{ name, scopes, days: Number(days) }} />
              </>
            )}
          </Form>
        </details>
      </Card>
    </>
  );
}

const FAR = '9000000000000000';
export function Activity() {
  const [rows, setRows] = useState<Event[]>([]);
  const [next, setNext] = useState<string | null>(null);
  const noun = query('noun');
  const now = beat.value;
  const load = async (before: string, keep: Event[]) => {
    const page = await get<{ items: Event[]; next: string | null }>(`/v1/events?limit=100&before=${before}`);
    setRows([...keep, ...page.items]);
    setNext(page.next);
  };
  useEffect(() => {
    load(FAR, []).catch(() => 0);
  }, [now]);
  const nouns = ['lease', 'account', 'token', 'key', 'volume', 'node', 'image', 'operation', 'price', 'wallet'];
  return (
    <Page title={t('activity.title')} lead={t('activity.lead')}>
      <div class="filters">
        <Field name="noun" label={t('what')} value={noun} set={(v) => setQuery('noun', v)} options={[['', t('prices.all')], ...nouns.map((n): [string, string] => [n, word('noun', n)])]} />
      </div>
      <Table<Event>
        label={t('activity.title')}
        rows={rows.filter((e) => !noun || e.noun === noun)}
        id={(e) => String(e.seq)}
        empty={t('list.empty')}
        columns={[
          { head: t('when'), cell: (e) => <Time at={e.time} /> },
          { head: t('what'), cell: (e) => <code>{e.type}</code> },
          { head: t('activity.ref'), cell: (e) => (e.noun === 'lease' ? <a href={`/console/instances/${e.ref}`}>{e.ref}</a> : <span>{e.ref}</span>) },
          { head: t('by'), cell: (e) => <Actor id={e.actor} /> },
          { head: t('cause'), cell: (e) => <span lang="en">{e.data?.reason || e.data?.detail || '—'}</span> },
          { head: t('ledger.hash'), cell: (e) => <code title={e.hash}>{e.hash.slice(0, 10)}</code> },
        ]}
      />
      {next && <button onClick={() => load(next, rows)}>{t('more')}</button>}
      <Cli cli="starlease events" method="GET" path="/v1/events?before=9000000000000000" />
    </Page>
  );
}
